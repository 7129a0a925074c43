package commitlog

import (
	"bytes"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"kz/internal/topic"
)

// A checkpoint is a small text file that is written whole and replaced atomically.
// Mirrors kafka.server.checkpoints.CheckpointFile. All of them look alike:
//
//	0               the version of the format
//	2               how many entries follow
//	orders 0 1204   one a line: topic partition offset, or epoch startOffset
//	orders 1 998
const checkpointVersion = "0"

// maxCheckpointBytes bounds what is read: a million partitions of the longest name.
const maxCheckpointBytes = 1 << 28

// malformed says that a small file of ours cannot be understood. It is reported and
// the file treated as missing; it is no I/O error.
type malformed struct{ path, why string }

func (m *malformed) Error() string { return fmt.Sprintf("malformed %s: %s", m.path, m.why) }

// readCheckpoint returns the fields of each entry.
func readCheckpoint(d *disk, path string) ([][]string, error) {
	text, err := d.readFile(path, maxCheckpointBytes)
	if err != nil {
		return nil, err
	}
	entries, err := parseCheckpoint(text)
	if err != nil {
		return nil, &malformed{path, err.Error()}
	}
	return entries, nil
}

func parseCheckpoint(text []byte) ([][]string, error) {
	if len(text) == 0 {
		return nil, fmt.Errorf("empty")
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if lines[0] != checkpointVersion {
		return nil, fmt.Errorf("unknown version %.20q", lines[0])
	}
	if len(lines) < 2 {
		return nil, fmt.Errorf("no entry count")
	}
	count, err := strconv.Atoi(lines[1])
	if err != nil || count < 0 {
		return nil, fmt.Errorf("entry count %.20q", lines[1])
	}
	lines = lines[2:]
	if len(lines) != count {
		return nil, fmt.Errorf("%d entries announced, %d found", count, len(lines))
	}
	entries := make([][]string, len(lines))
	for i, line := range lines {
		entries[i] = strings.Fields(line)
	}
	return entries, nil
}

func writeCheckpoint(d *disk, path string, lines []string, durable bool) error {
	return d.writeFile(path, checkpointText(lines), durable)
}

func checkpointText(lines []string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n%d\n", checkpointVersion, len(lines))
	for _, line := range lines {
		b.WriteString(line)
		b.WriteByte('\n')
	}
	return b.Bytes()
}

func joinFields(fields []string) string { return strings.Join(fields, " ") }

// offsetCheckpoint is a checkpoint of one offset per partition of a directory.
// Mirrors kafka.server.checkpoints.OffsetCheckpointFile.
type offsetCheckpoint struct {
	d       *disk
	path    string
	written []byte // what the file holds for sure; an unchanged text is not written again
}

// read returns the offsets; a missing file is an empty one.
func (c *offsetCheckpoint) read() (map[topic.Partition]int64, error) {
	entries, err := readCheckpoint(c.d, c.path)
	if err != nil {
		return nil, err
	}
	offsets := make(map[topic.Partition]int64, len(entries))
	for _, f := range entries {
		p, offset, ok := parseOffsetEntry(f)
		if !ok {
			return nil, &malformed{c.path, fmt.Sprintf("bad entry %.200q", joinFields(f))}
		}
		offsets[p] = offset
	}
	return offsets, nil
}

func parseOffsetEntry(f []string) (p topic.Partition, offset int64, ok bool) {
	if len(f) != 3 {
		return p, 0, false
	}
	n, err1 := strconv.ParseInt(f[1], 10, 32)
	offset, err2 := strconv.ParseInt(f[2], 10, 64)
	p = topic.Partition{Topic: f[0], Partition: int32(n)}
	return p, offset, err1 == nil && err2 == nil && n >= 0 && offset >= 0
}

// write replaces the file, durably, unless it already says the same.
func (c *offsetCheckpoint) write(offsets map[topic.Partition]int64) error {
	lines := make([]string, 0, len(offsets))
	for p, offset := range offsets {
		lines = append(lines, p.Topic+" "+strconv.Itoa(int(p.Partition))+" "+strconv.FormatInt(offset, 10))
	}
	sort.Strings(lines)
	text := checkpointText(lines)
	if bytes.Equal(text, c.written) {
		return nil
	}
	c.written = nil
	if err := c.d.writeFile(c.path, text, true); err != nil {
		return err
	}
	c.written = text
	return nil
}

func isMalformed(err error) bool {
	var m *malformed
	return errors.As(err, &m)
}
