package up

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// specFile marks a directory as a cluster's and says what runs in it.
const specFile = "cluster.json"

// A Spec is what a cluster keeps over restarts: a broker that comes back on another port
// would not be the broker that clients know.
type Spec struct {
	Ports     map[int32]int `json:"ports"`         // of each broker by its id
	ZooPort   int           `json:"zookeeperPort"` // of the embedded ZooKeeper
	ZooKeeper string        `json:"zookeeper"`     // of one that is not ours, or ""
	Profile   string        `json:"profile"`       // "class" or "faithful"
}

// Brokers numbers n brokers from 1 on, at ports from base on.
func Brokers(n, base int) map[int32]int {
	ports := map[int32]int{}
	for i := range n {
		ports[int32(i+1)] = base + i
	}
	return ports
}

// ReadSpec reads what a directory holds; fs.ErrNotExist when it is no cluster's.
func ReadSpec(dir string) (Spec, error) {
	var s Spec
	b, err := os.ReadFile(filepath.Join(dir, specFile))
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(b, &s); err != nil || len(s.Ports) == 0 {
		return s, fmt.Errorf("%s is damaged: it names no brokers", filepath.Join(dir, specFile))
	}
	if err := s.Check(); err != nil {
		return s, fmt.Errorf("%s is damaged: %w", filepath.Join(dir, specFile), err)
	}
	return s, nil
}

// Check names the first thing that no cluster can be started with.
func (s Spec) Check() error {
	owner := map[int]string{}
	claim := func(who string, port int) error {
		if port < 1 || port > 65535 {
			return fmt.Errorf("port %d of %s is not 1 to 65535", port, who)
		}
		if other := owner[port]; other != "" {
			return fmt.Errorf("%s and %s have the same port, %d", other, who, port)
		}
		owner[port] = who
		return nil
	}
	for _, id := range slices.Sorted(maps.Keys(s.Ports)) {
		if id < 0 {
			return fmt.Errorf("%d is no broker id", id)
		}
		if err := claim(BrokerName(id), s.Ports[id]); err != nil {
			return err
		}
	}
	if s.ZooKeeper == "" {
		if err := claim(zooName, s.ZooPort); err != nil {
			return err
		}
	}
	_, err := ProfileNamed(s.Profile)
	return err
}

// WriteSpec makes dir a cluster's directory.
func WriteSpec(dir string, s Spec) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, specFile), append(b, '\n'), 0o644)
}

// Purge removes a cluster's directory, and refuses to remove any other.
func Purge(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, specFile)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is not removed: there is no %s in it, so it is no cluster's", dir, specFile)
	}
	return os.RemoveAll(dir)
}
