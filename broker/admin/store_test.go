package admin

import (
	"context"
	"fmt"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"kz/broker/config"
	"kz/broker/metadata"
	"kz/internal/topic"
	"kz/internal/zk"
	"kz/zkpaths"
)

// tree is ZooKeeper in a map: one session that never breaks, unless told to.
type tree struct {
	mu       sync.Mutex
	nodes    map[string]*node
	sequence int
	reads    int      // of nodes' data
	writes   []string // every write that succeeded or failed, in order
	children map[string]func(zk.EventType)
	armed    map[string]bool
	echo     map[string]bool   // writes whose first answer is lost: done, then NODEEXISTS or BADVERSION with Retried
	rival    map[string]string // what somebody else writes to a node right after it was read
}

type node struct {
	data []byte
	stat zk.Stat
}

func newTree() *tree {
	return &tree{nodes: map[string]*node{"/": {}, "/brokers": {}, "/brokers/topics": {}, "/brokers/ids": {}, "/config": {}, "/config/topics": {},
		"/config/changes": {}, "/config/brokers": {}},
		children: map[string]func(zk.EventType){}, armed: map[string]bool{}, echo: map[string]bool{}}
}

func (t *tree) create(p string, data []byte) error {
	if _, ok := t.nodes[p]; ok {
		return zk.NodeExists
	}
	if _, ok := t.nodes[path.Dir(p)]; !ok {
		return zk.NoNode
	}
	t.nodes[p] = &node{data: data, stat: zk.Stat{Ctime: time.Now().UnixMilli()}}
	if f := t.children[path.Dir(p)]; f != nil && t.armed[path.Dir(p)] {
		delete(t.armed, path.Dir(p))
		go f(zk.ChildrenChanged)
	}
	return nil
}

func (t *tree) note(what, p string, data []byte, err error) {
	s := what + " " + p
	if data != nil {
		s += " " + string(data)
	}
	if err != nil {
		s += " FAILS " + err.Error()
	}
	t.writes = append(t.writes, s)
}

func (t *tree) Do(ctx context.Context, ops ...zk.Op) (out []zk.Result) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, op := range ops {
		var r zk.Result
		if op.Kind == zk.OpGet {
			t.reads++
			if n, ok := t.nodes[op.Path]; ok {
				r.Data, r.Stat = n.data, n.stat
			} else {
				r.Err = zk.NoNode
			}
			out = append(out, r)
			continue
		}
		if op.Kind == zk.OpSet {
			if r.Stat, r.Err = t.set(op.Path, op.Data, op.Version); r.Err == nil && t.echo[op.Path] {
				r.Err, r.Retried = zk.BadVersion, true
			}
			out = append(out, r)
			continue
		}
		r.Path = op.Path
		if op.Sequential {
			r.Path = fmt.Sprintf("%s%010d", op.Path, t.sequence)
			t.sequence++
		}
		r.Err = t.create(r.Path, op.Data)
		if r.Err == nil && t.echo[r.Path] {
			r.Err, r.Retried = zk.NodeExists, true
		}
		t.note("create", r.Path, op.Data, r.Err)
		out = append(out, r)
	}
	return out
}

func (t *tree) Get(ctx context.Context, p string) ([]byte, zk.Stat, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.reads++
	n, ok := t.nodes[p]
	if !ok {
		return nil, zk.Stat{}, zk.NoNode
	}
	data, stat := n.data, n.stat
	if rival, ok := t.rival[p]; ok {
		delete(t.rival, p)
		n.data = []byte(rival)
		n.stat.Version++
	}
	return data, stat, nil
}

func (t *tree) Exists(ctx context.Context, p string) (zk.Stat, bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, ok := t.nodes[p]
	if !ok {
		return zk.Stat{}, false, nil
	}
	return n.stat, true, nil
}

func (t *tree) Children(ctx context.Context, p string, watch bool) (out []string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.nodes[p]; !ok {
		return nil, zk.NoNode
	}
	if watch {
		t.armed[p] = true
	}
	for name := range t.nodes {
		if path.Dir(name) == p && name != p {
			out = append(out, path.Base(name))
		}
	}
	return out, nil
}

func (t *tree) Set(ctx context.Context, p string, data []byte, version int32) (zk.Stat, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.set(p, data, version)
}

func (t *tree) set(p string, data []byte, version int32) (zk.Stat, error) {
	n, ok := t.nodes[p]
	if !ok {
		t.note("set", p, data, zk.NoNode)
		return zk.Stat{}, zk.NoNode
	}
	if version != zk.AnyVersion && version != n.stat.Version {
		t.note("set", p, data, zk.BadVersion)
		return zk.Stat{}, zk.BadVersion
	}
	n.data = data
	n.stat.Version++
	t.note("set", p, data, nil)
	return n.stat, nil
}

func (t *tree) Delete(ctx context.Context, p string, version int32) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.nodes[p]; !ok {
		return zk.NoNode
	}
	delete(t.nodes, p)
	t.note("delete", p, nil, nil)
	return nil
}

func (t *tree) CreateRecursive(ctx context.Context, p string, data []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, part := range strings.Split(p, "/") {
		if prefix := strings.Join(strings.Split(p, "/")[:i+1], "/"); part != "" && prefix != p {
			_ = t.create(prefix, nil)
		}
	}
	err := t.create(p, data)
	t.note("create", p, data, err)
	return err
}

func (t *tree) RegisterChild(p string, f func(zk.EventType)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.children[p] = f
}

func (t *tree) UnregisterChild(p string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.children, p)
}
func (t *tree) RegisterSession(string, func(), func()) {}
func (t *tree) UnregisterSession(string)               {}

// put sets a node without noting it.
func (t *tree) put(p string, data string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.nodes[p] = &node{data: []byte(data), stat: zk.Stat{Ctime: time.Now().UnixMilli()}}
}

func (t *tree) written() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.writes
	t.writes = nil
	return w
}

// register puts brokers into ZooKeeper.
func (t *tree) register(ids ...int32) {
	for _, id := range ids {
		t.put(zkpaths.Broker(id), string(zkpaths.BrokerInfo{Version: 4, Host: "h", Port: 9092,
			Endpoints:   []zkpaths.Endpoint{{Listener: "PLAINTEXT", Host: "h", Port: 9092}},
			SecurityMap: map[string]string{"PLAINTEXT": "PLAINTEXT"}, JMXPort: -1, Timestamp: 1}.Encode()))
	}
}

// room is a Manager with brokers 1, 2, 3.
type room struct {
	*Manager
	tree *tree
	meta *metadata.Cache
}

func newRoom(t *testing.T, props ...string) room {
	t.Helper()
	set := map[string]string{"zookeeper.connect": "h:2181", "broker.id": "1"}
	for i := 0; i < len(props); i += 2 {
		set[props[i]] = props[i+1]
	}
	cfg, _, err := config.Parse(set)
	if err != nil {
		t.Fatal(err)
	}
	tr, meta := newTree(), metadata.NewCache(1)
	tr.register(1, 2, 3)
	meta.Apply(metadata.Update{Brokers: []metadata.Broker{{ID: 1}, {ID: 2}, {ID: 3}}})
	m := NewManager(cfg, tr, meta, NewConfigs(cfg, tr, zerolog.Nop()), zerolog.Nop())
	t.Cleanup(m.Stop)
	return room{m, tr, meta}
}

// lead tells the cache that a topic's partitions are led.
func (r room) lead(name string, partitions int32, leader int32) {
	u := metadata.Update{Brokers: r.meta.Current().AliveBrokers(), Partitions: map[topic.Partition]metadata.PartitionState{}}
	for p := range partitions {
		u.Partitions[topic.Partition{Topic: name, Partition: p}] = metadata.PartitionState{Leader: leader}
	}
	r.meta.Apply(u)
}
