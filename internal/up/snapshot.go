package up

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Node is one process as it is now.
type Node struct {
	Name    string `json:"name"` // "zookeeper", "broker-1"
	Address string `json:"address"`
	PID     int    `json:"pid,omitempty"` // 0: not ours
	Running bool   `json:"running"`
	State   string `json:"state"` // "up", "paused", "down"
	Journal string `json:"journal,omitempty"`
	Log     string `json:"log,omitempty"`
}

// A Snapshot is the whole cluster as it is now.
type Snapshot struct {
	State      string    `json:"state,omitempty"` // "starting", "running", "stopping", under a supervisor
	Dir        string    `json:"dir"`
	Profile    string    `json:"profile"`
	Changed    []Setting `json:"changed"` // what differs from Kafka's defaults, and ZooKeeper's
	ZooKeeper  string    `json:"zookeeper"`
	Bootstrap  []string  `json:"bootstrap"`
	Supervisor int       `json:"supervisor,omitempty"` // the supervisor's process id
	Nodes      []Node    `json:"nodes"`                // ZooKeeper first, then brokers by id
	Faults     []Fault   `json:"faults"`               // in force or armed
	LastSeq    int64     `json:"lastSeq"`              // of the merged events
}

// IDs are the brokers' ids in order, whether they run or not.
func (c *Cluster) IDs() []int32 { return slices.Sorted(maps.Keys(c.cfg.Ports)) }

// Snapshot looks at every process.
func (c *Cluster) Snapshot() Snapshot {
	s := Snapshot{Dir: c.cfg.Dir, Profile: c.cfg.Profile.Name, Changed: c.changed(), ZooKeeper: c.ZooKeeper(), Bootstrap: c.Bootstrap(), Faults: c.Faults()}
	if m := c.merged(); m != nil {
		s.LastSeq = m.last()
	}
	if zoo := c.zookeeper(); zoo != nil {
		s.Nodes = append(s.Nodes, c.node(zooName, c.ZooKeeper(), zoo))
	} else if c.cfg.ZooKeeper != "" {
		n := Node{Name: zooName, Address: c.cfg.ZooKeeper, Running: answers(firstServer(c.cfg.ZooKeeper)), State: "down"}
		if n.Running {
			n.State = "up"
		}
		s.Nodes = append(s.Nodes, n)
	}
	for _, id := range c.IDs() {
		s.Nodes = append(s.Nodes, c.node(BrokerName(id), c.Addr(id), c.broker(id)))
	}
	return s
}

// firstServer is the first address of a zookeeper.connect, which may list several and end
// in a path.
func firstServer(connect string) string {
	if i := strings.IndexAny(connect, ",/"); i >= 0 {
		return connect[:i]
	}
	return connect
}

func (c *Cluster) node(name, addr string, p *child) Node {
	n := Node{Name: name, Address: addr, State: "down", Journal: c.JournalFile(name), Log: c.LogFile(name)}
	if p == nil {
		return n
	}
	n.Running, n.PID = p.running(), p.pid()
	switch {
	case n.Running && p.paused.Load():
		n.State = "paused"
	case n.Running:
		n.State = "up"
	}
	return n
}

// BrokerName is how files and tables name a broker.
func BrokerName(id int32) string { return fmt.Sprint("broker-", id) }
