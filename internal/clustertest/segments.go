package clustertest

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// logBytes opens a partition's whole log below one log directory: its .log files one after another.
// Replicas may have rolled at different offsets, so it is the sequence of bytes that must agree.
func logBytes(logDir, topic string, partition int32) (io.Reader, func(), int64, error) {
	files, err := filepath.Glob(filepath.Join(logDir, fmt.Sprintf("%s-%d", topic, partition), "*.log"))
	if err != nil || len(files) == 0 {
		return nil, nil, 0, fmt.Errorf("no segments of %s-%d in %s (%v)", topic, partition, logDir, err)
	}
	sort.Strings(files)
	var open []*os.File
	var readers []io.Reader
	var size int64
	done := func() {
		for _, f := range open {
			_ = f.Close()
		}
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			done()
			return nil, nil, 0, err
		}
		open = append(open, f)
		if st, err := f.Stat(); err == nil {
			size += st.Size()
		}
		readers = append(readers, f)
	}
	return io.MultiReader(readers...), done, size, nil
}

// sameLog compares a partition's log below two log directories, byte for byte.
func sameLog(dirA, dirB, topic string, partition int32) (bool, string) {
	a, doneA, sizeA, err := logBytes(dirA, topic, partition)
	if err != nil {
		return false, err.Error()
	}
	defer doneA()
	b, doneB, sizeB, err := logBytes(dirB, topic, partition)
	if err != nil {
		return false, err.Error()
	}
	defer doneB()
	if sizeA != sizeB {
		return false, fmt.Sprintf("%s-%d: %d bytes in %s, %d in %s", topic, partition, sizeA, filepath.Base(dirA), sizeB, filepath.Base(dirB))
	}
	bufA, bufB := make([]byte, 1<<18), make([]byte, 1<<18)
	for at := int64(0); ; {
		n, errA := io.ReadFull(a, bufA)
		m, errB := io.ReadFull(b, bufB)
		if n != m || !bytes.Equal(bufA[:n], bufB[:m]) {
			return false, fmt.Sprintf("%s-%d differs within %d bytes after %d", topic, partition, max(n, m), at)
		}
		at += int64(n)
		if errA != nil || errB != nil {
			return at == sizeA, fmt.Sprintf("read %d of %d", at, sizeA)
		}
	}
}

// ReplicasEqual waits until every replica of every partition of the topic holds the same bytes. No
// producer may be at work.
func (c *Processes) ReplicasEqual(cl *kgo.Client, topic string, within time.Duration) {
	t := c.t
	t.Helper()
	parts, err := Partitions(cl, topic)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		first := c.Nodes[p.Replicas[0]].LogDir
		for _, r := range p.Replicas[1:] {
			dir := c.Nodes[r].LogDir
			Eventually(t, within, fmt.Sprintf("equal bytes of %s-%d on brokers %d and %d", topic, p.Partition, p.Replicas[0], r), func() (bool, string) {
				return sameLog(first, dir, topic, p.Partition)
			})
		}
	}
}
