package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"kz/client"
	"kz/client/admin"
	"kz/internal/journal"
	"kz/internal/up"
	"kz/internal/zk"
	"kz/zkpaths"
)

const (
	demoTopic = "orders"
	demoWait  = 20 * time.Second // for each step; the session timeout is two seconds
)

// A stage is what every story has: a cluster of three brokers, and eyes on ZooKeeper.
type stage struct {
	*narrator
	profile up.Profile
	cluster *up.Cluster
	zk      *zk.Client
}

// openStage starts the cluster and says so.
func openStage(ctx context.Context, n *narrator, dir string) (*stage, error) {
	profile, err := demoProfile()
	if err != nil {
		return nil, err
	}
	s := &stage{narrator: n, profile: profile}
	if s.cluster, err = demoCluster(dir, profile); err != nil {
		return nil, err
	}
	if err := s.start(ctx); err != nil {
		s.cluster.Kill()
		return nil, err
	}
	return s, nil
}

// demoProfile is the class profile without what it says of consumer groups: the stories have none.
func demoProfile() (up.Profile, error) {
	p, err := up.ProfileNamed("class")
	p.Changed = slices.DeleteFunc(slices.Clone(p.Changed), func(s up.Setting) bool {
		return strings.HasPrefix(s.Key, "group.") || strings.HasPrefix(s.Key, "offsets.")
	})
	return p, err
}

func (s *stage) start(ctx context.Context) (err error) {
	var changed []string
	for _, c := range s.profile.Changed {
		changed = append(changed, fmt.Sprintf("%s=%s (Kafka: %s)", c.Key, c.Value, c.Kafka))
	}
	s.say("Starting a ZooKeeper and three brokers, each a process of its own. So that you need not\nwait long: %s.", strings.Join(changed, ",\n"))
	fmt.Fprintf(s.e.stderr, "         ... until all of them serve (at most %v)\n", demoWait)
	starting, cancel := context.WithTimeout(ctx, demoWait)
	defer cancel()
	if err := s.cluster.Start(starting); err != nil {
		return err
	}
	s.zk, err = openZk(ctx, s.e, s.cluster.ZooKeeper())
	return err
}

// close ends every process of it.
func (s *stage) close() {
	s.zk.Close()
	s.cluster.Kill()
}

// others are all brokers but one, by id.
func (s *stage) others(but int32) []int32 {
	return slices.DeleteFunc(s.cluster.IDs(), func(id int32) bool { return id == but })
}

// createTopicOn makes a topic of one partition with these replicas; the first leads.
func (s *stage) createTopicOn(ctx context.Context, name string, replicas []int32) error {
	a := admin.New(client.DefaultConfig(s.cluster.Bootstrap()...))
	defer a.Close()
	ctx, cancel := context.WithTimeout(ctx, demoWait)
	defer cancel()
	return a.CreateTopic(ctx, admin.NewTopic{Name: name, Assignment: [][]int32{replicas}})
}

// demoState is the state znode of the partition at one moment of the story.
type demoState struct {
	Version int32  `json:"version"`
	Data    string `json:"data"`
}

// state reads the state znode of a topic's one partition.
func (s *stage) state(ctx context.Context, name string) (demoState, zkpaths.PartitionState, error) {
	ctx, cancel := context.WithTimeout(ctx, demoWait)
	defer cancel()
	data, stat, err := s.zk.Get(ctx, zkpaths.PartitionStatePath(name, 0))
	if err != nil {
		return demoState{}, zkpaths.PartitionState{}, err
	}
	st, err := zkpaths.DecodePartitionState(data)
	return demoState{Version: stat.Version, Data: string(data)}, st, err
}

// A demoReign is what ZooKeeper says of the controller at one moment.
type demoReign struct {
	id      int32  // the broker that /controller names
	session string // whose ephemeral it is
	Data    string `json:"data"`
	Epoch   string `json:"epoch"`        // what /controller_epoch holds
	Version int32  `json:"epochVersion"` // of /controller_epoch
}

func (s *stage) readController(ctx context.Context) (demoReign, error) {
	ctx, cancel := context.WithTimeout(ctx, demoWait)
	defer cancel()
	data, stat, err := s.zk.Get(ctx, zkpaths.Controller)
	if err != nil {
		return demoReign{}, err
	}
	info, err := zkpaths.DecodeControllerInfo(data)
	if err != nil {
		return demoReign{}, err
	}
	epoch, epochStat, err := s.zk.Get(ctx, zkpaths.ControllerEpoch)
	return demoReign{info.BrokerID, statJSON(stat).EphemeralOwner, string(data), string(epoch), epochStat.Version}, err
}

// A follower remembers the events of one process from a moment on.
type follower struct {
	tail *up.Tail
	all  []journal.Event
}

func (s *stage) follow(node string) (*follower, error) {
	t, err := up.TailFromEnd(s.cluster.JournalFile(node))
	return &follower{tail: t}, err
}

// read takes in what has happened since the last look.
func (f *follower) read() { f.all = append(f.all, f.tail.Next()...) }

func (f *follower) has(is func(journal.Event) bool) bool {
	f.read()
	return slices.ContainsFunc(f.all, is)
}

func (f *follower) find(is func(journal.Event) bool) (journal.Event, bool) {
	if i := slices.IndexFunc(f.all, is); i >= 0 {
		return f.all[i], true
	}
	return journal.Event{}, false
}

func (f *follower) count(is func(journal.Event) bool) int {
	n := 0
	for _, ev := range f.all {
		if is(ev) {
			n++
		}
	}
	return n
}

// awaitEvent waits until the process has told of it.
func (s *stage) awaitEvent(ctx context.Context, f *follower, what string, is func(journal.Event) bool) (journal.Event, error) {
	err := s.await(ctx, what, demoWait, func() (bool, error) { return f.has(is), nil })
	ev, _ := f.find(is)
	return ev, err
}

// ids prints broker ids as Kafka's tools do.
func ids(list []int32) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(list), " ", ","), "[]")
}
