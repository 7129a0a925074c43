package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"kz/internal/up"
)

// whichSeats are the three brokers of which-is-go: those of kz are a cluster of internal/up, with the
// ZooKeeper, and those of Apache Kafka sit beside it.
type whichSeats struct {
	dir     string
	cluster *up.Cluster
	apache  map[int32]*up.ApacheBroker
	addrs   map[int32]string
}

func newWhichSeats(dir string, profile up.Profile, apache up.Apache, ofKz, ofKafka []int32) (*whichSeats, error) {
	ports, err := up.FreePorts(4)
	if err != nil {
		return nil, err
	}
	s := &whichSeats{dir: dir, apache: map[int32]*up.ApacheBroker{}, addrs: map[int32]string{}}
	own := map[int32]int{}
	for id := int32(1); id <= 3; id++ {
		s.addrs[id] = fmt.Sprintf("127.0.0.1:%d", ports[id])
		if slices.Contains(ofKz, id) {
			own[id] = ports[id]
		}
	}
	if s.cluster, err = up.New(up.Config{Dir: dir, ZooPort: ports[0], Ports: own, Profile: profile}); err != nil {
		return nil, err
	}
	for _, id := range ofKafka {
		settings := append([]up.Setting{
			{Key: "broker.id", Value: fmt.Sprint(id)},
			{Key: "listeners", Value: "PLAINTEXT://" + s.addrs[id]},
			{Key: "log.dirs", Value: s.logDir(id)},
			{Key: "zookeeper.connect", Value: s.cluster.ZooKeeper()},
			{Key: "zookeeper.connection.timeout.ms", Value: "60000"},
			{Key: "inter.broker.protocol.version", Value: "2.6"},
		}, profile.Changed...)
		if s.apache[id], err = up.NewApacheBroker(apache, dir, id, settings); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *whichSeats) logDir(id int32) string { return filepath.Join(s.dir, up.BrokerName(id)) }

func (s *whichSeats) bootstrap() []string { return []string{s.addrs[1], s.addrs[2], s.addrs[3]} }

func (s *whichSeats) start(ctx context.Context) error {
	if err := s.cluster.Start(ctx); err != nil {
		return err
	}
	for id := int32(1); id <= 3; id++ { // one JVM after the other: two at once take longer than both
		if b := s.apache[id]; b != nil {
			if err := b.Start(); err != nil {
				return err
			}
			if err := b.Ready(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *whichSeats) killBroker(id int32) error {
	if b := s.apache[id]; b != nil {
		b.Kill()
		return nil
	}
	_, err := s.cluster.KillBroker(id)
	return err
}

func (s *whichSeats) startBroker(ctx context.Context, id int32) error {
	b := s.apache[id]
	if b == nil {
		return s.cluster.StartBroker(ctx, id)
	}
	if err := b.Start(); err != nil {
		return err
	}
	return b.Ready(ctx)
}

// kill ends everything at once.
func (s *whichSeats) kill() {
	for _, b := range s.apache {
		b.Kill()
	}
	s.cluster.Kill()
}

// sameLog says whether all brokers hold the same bytes in a partition's segments. They may have rolled at
// different offsets: it is the sequence of bytes that counts.
func (s *whichSeats) sameLog(partition string) (bool, error) {
	var first []byte
	for id := int32(1); id <= 3; id++ {
		files, err := filepath.Glob(filepath.Join(s.logDir(id), partition, "*.log"))
		if err != nil || len(files) == 0 {
			return false, fmt.Errorf("broker %d has no segments of %s (%w)", id, partition, err)
		}
		var all []byte
		for _, f := range files { // in the order of their offsets
			b, err := os.ReadFile(f)
			if err != nil {
				return false, err
			}
			all = append(all, b...)
		}
		if id == 1 {
			first = all
		} else if !bytes.Equal(all, first) {
			return false, nil
		}
	}
	return len(first) > 0, nil
}
