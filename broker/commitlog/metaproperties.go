package commitlog

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// MetaProperties is meta.properties, which ties a log directory to one broker of one
// cluster. Mirrors kafka.server.BrokerMetadataCheckpoint. As Java writes it:
//
//	#
//	#Sun Nov 29 16:24:06 UTC 2026
//	broker.id=1
//	version=0
//	cluster.id=ohPdTcC_Tg6gAYU0niDqug
type MetaProperties struct {
	Version   int
	BrokerID  int32  // -1 absent
	ClusterID string // "" absent
}

const maxMetaPropertiesBytes = 64 << 10

func (p MetaProperties) text(now time.Time) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "#\n#%s\n", now.Format("Mon Jan 02 15:04:05 MST 2006"))
	if p.BrokerID >= 0 {
		fmt.Fprintf(&b, "broker.id=%d\n", p.BrokerID)
	}
	fmt.Fprintf(&b, "version=%d\n", p.Version)
	if p.ClusterID != "" {
		fmt.Fprintf(&b, "cluster.id=%s\n", p.ClusterID)
	}
	return b.Bytes()
}

// parseMetaProperties reads the file's text. Unknown keys are ignored; a missing version
// is 0. Mirrors RawMetaProperties.
func parseMetaProperties(text []byte) (MetaProperties, error) {
	p := MetaProperties{BrokerID: -1}
	sc := bufio.NewScanner(bytes.NewReader(text))
	for sc.Scan() {
		line := strings.TrimSpace(sc.Text())
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		cut := strings.IndexAny(line, "=:")
		if cut < 0 {
			return p, fmt.Errorf("line %.80q is no key=value", line)
		}
		key, value := strings.TrimSpace(line[:cut]), strings.TrimSpace(line[cut+1:])
		switch key {
		case "version":
			v, err := strconv.Atoi(value)
			if err != nil || v != 0 {
				return p, fmt.Errorf("version=%.20q, only 0 is known", value)
			}
		case "broker.id":
			v, err := strconv.ParseInt(value, 10, 32)
			if err != nil || v < 0 {
				return p, fmt.Errorf("broker.id=%.20q", value)
			}
			p.BrokerID = int32(v)
		case "cluster.id":
			p.ClusterID = value
		}
	}
	return p, sc.Err()
}

// MetaProperties reads meta.properties of every live directory. Contents that differ
// and a malformed file are errors; nil when no directory has one.
func (m *Manager) MetaProperties() (*MetaProperties, error) {
	var found *MetaProperties
	var foundIn string
	for _, dir := range m.live() {
		path := segmentPath(dir.path, metaPropertiesFile)
		text, err := m.disk.readFile(path, maxMetaPropertiesBytes)
		if errors.Is(err, os.ErrNotExist) {
			m.log.Warn().Str("dir", dir.path).Msg("no meta.properties: the directory is new, or was never a broker's")
			continue
		}
		if err != nil && !isMalformed(err) {
			m.FailDir(dir.path, err)
			continue
		}
		var p MetaProperties
		if err == nil {
			p, err = parseMetaProperties(text)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if found != nil && *found != p {
			return nil, fmt.Errorf("meta.properties of %s (%+v) and %s (%+v) differ: the directories belong to different brokers or clusters",
				foundIn, *found, dir.path, p)
		}
		found, foundIn = &p, dir.path
	}
	return found, nil
}

// WriteMetaProperties writes it into every live directory. A directory that fails
// goes offline; the error is the last such failure when none is left.
func (m *Manager) WriteMetaProperties(p MetaProperties) error {
	var last error
	for _, dir := range m.live() {
		if err := m.disk.writeFile(segmentPath(dir.path, metaPropertiesFile), p.text(time.Now()), true); err != nil {
			last = err
			m.FailDir(dir.path, err)
		}
	}
	if len(m.live()) == 0 {
		return fmt.Errorf("no log directory is left: %w", last)
	}
	return nil
}
