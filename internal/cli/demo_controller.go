package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"kz/internal/journal"
	"kz/internal/up"
	"kz/internal/zk"
	"kz/zkpaths"
)

// reignResult is what kill-the-controller comes to.
type reignResult struct {
	demoReport
	Before       demoReign `json:"before"`
	After        demoReign `json:"after"`
	Old          int32     `json:"old"`          // the controller that was killed
	New          int32     `json:"new"`          // who won
	Interregnum  int       `json:"interregnum"`  // records acknowledged while nobody was the controller
	Requests     int       `json:"requests"`     // that the new controller sent
	StaleWrite   string    `json:"staleWrite"`   // what became of a write of the old reign
	State        demoState `json:"state"`        // of a topic made under the new one
	Acknowledged int       `json:"acknowledged"` // in all
	Lost         []string  `json:"lost"`
}

// reignStory is what the acts of kill-the-controller share.
type reignStory struct {
	*stage
	result  reignResult
	load    *demoLoad
	zoo     *follower
	brokers map[int32]*follower // those that go on
}

// killTheController is the whole story.
func killTheController(ctx context.Context, n *narrator, dir string) (outcome, error) {
	st, err := openStage(ctx, n, dir)
	if err != nil {
		return nil, err
	}
	defer st.close()
	s := &reignStory{stage: st, brokers: map[int32]*follower{}}
	s.result.Changed = st.profile.Changed
	s.load = newDemoLoad(s.cluster.Bootstrap(), demoTopic)
	defer s.load.close()
	for _, act := range []func(context.Context) error{s.begin, s.kill, s.staleWrite, s.govern, s.compare} {
		if err := act(ctx); err != nil {
			return nil, err
		}
	}
	return &s.result, nil
}

// begin makes a topic without a replica on the controller: what the partition then goes
// through shows what a cluster does without one.
func (s *reignStory) begin(ctx context.Context) (err error) {
	if s.result.Before, err = s.readController(ctx); err != nil {
		return err
	}
	s.result.Old = s.result.Before.id
	replicas := s.others(s.result.Old)
	if err := s.createTopicOn(ctx, demoTopic, replicas); err != nil {
		return err
	}
	s.say("Brokers 1, 2 and 3 serve. Broker %d is the controller: its session %s\nmade the ephemeral /controller  %s\n/controller_epoch is %s, at v%d. Topic %s lies on brokers %s, not on the controller.",
		s.result.Old, s.result.Before.session, s.result.Before.Data, s.result.Before.Epoch, s.result.Before.Version, demoTopic, ids(replicas))
	if s.zoo, err = s.follow("zookeeper"); err != nil {
		return err
	}
	for _, id := range replicas {
		if s.brokers[id], err = s.follow(up.BrokerName(id)); err != nil {
			return err
		}
	}
	return s.load.sendMany(ctx, 200)
}

func (s *reignStory) kill(ctx context.Context) error {
	stop := s.load.trickle(ctx)
	killed := time.Now()
	pid, err := s.cluster.KillBroker(s.result.Old)
	if err != nil {
		_ = stop()
		return err
	}
	s.say("kill -9 %d: broker %d, the controller, is gone. Nobody was told.", pid, s.result.Old)
	err = s.succession(ctx, killed)
	if stopErr := stop(); err == nil && stopErr != nil {
		err = fmt.Errorf("the producer gave a record up: %w", stopErr)
	}
	return err
}

// succession follows the end of the old reign and the beginning of the new one.
func (s *reignStory) succession(ctx context.Context, killed time.Time) error {
	removal, err := s.awaitEvent(ctx, s.zoo, "ZooKeeper has to notice the silence", func(ev journal.Event) bool {
		return isWrite(ev, zkpaths.Controller, "delete") && ev.Result == "ok"
	})
	if err != nil {
		return err
	}
	elected := func(ev journal.Event) bool { return ev.Kind == journal.ControllerOn }
	err = s.await(ctx, "one of the others has to become the controller", demoWait, func() (bool, error) {
		for id, f := range s.brokers {
			if f.has(elected) {
				s.result.New = id
			}
		}
		return s.result.New != 0, nil
	})
	if err != nil {
		return err
	}
	s.result.Interregnum = s.load.ackedBetween(killed, time.Now())
	watchers := s.zoo.count(func(ev journal.Event) bool {
		return ev.Kind == journal.WatchFired && ev.Path == zkpaths.Controller && ev.Zxid == removal.Zxid
	})
	expiry, _ := s.zoo.find(func(ev journal.Event) bool { return ev.Kind == journal.SessionExpired && ev.Session == removal.Session })
	s.say("The session %s expired: %s.\nWith it went /controller, under zxid 0x%x, and the watches of %d brokers on it fired.", removal.Session, expiry.Text, removal.Zxid, watchers)
	return s.coronation(ctx)
}

// coronation tells the race: one multi wins, and every later one is refused.
func (s *reignStory) coronation(ctx context.Context) (err error) {
	crowned, err := s.awaitEvent(ctx, s.zoo, "ZooKeeper's journal has to say who won", func(ev journal.Event) bool {
		return isWrite(ev, zkpaths.Controller, "create") && ev.Result == "ok"
	})
	if err != nil {
		return err
	}
	raised, found := s.zoo.find(func(ev journal.Event) bool {
		return isWrite(ev, zkpaths.ControllerEpoch, "setData") && ev.Result == "ok" && ev.Zxid == crowned.Zxid
	})
	s.result.must(found, "/controller was created without raising /controller_epoch in the same transaction")
	if s.result.After, err = s.readController(ctx); err != nil {
		return err
	}
	was, now := s.result.Before, s.result.After
	s.result.must(now.Version == was.Version+1, "/controller_epoch went from v%d to v%d", was.Version, now.Version)
	s.result.must(crowned.Session == now.session && now.id == s.result.New, "broker %d says it won, ZooKeeper names broker %d", s.result.New, now.id)
	s.say("Broker %d came first. Its multi creates /controller and sets /controller_epoch if that is\nstill v%d, both under zxid 0x%x or neither: /controller_epoch v%d -> v%d, %s -> %s.",
		s.result.New, raised.VersionBefore, crowned.Zxid, was.Version, now.Version, was.Epoch, now.Epoch)
	if late, ok := s.zoo.find(func(ev journal.Event) bool {
		return ev.Kind == journal.ZnodeWrite && ev.Zxid > removalOf(s.zoo) && ev.Session != crowned.Session && ev.Result != "ok" &&
			(ev.Path == zkpaths.Controller || ev.Path == zkpaths.ControllerEpoch)
	}); ok {
		s.say("The other's multi (session %s) came second: %s.\nIt read who won, and watches again.", late.Session, late.Result)
	} else {
		s.say("The other had not tried yet when it saw the new /controller: it watches again.")
	}
	s.say("While nobody was the controller %d records were acknowledged: writing needs leaders, not\na controller. What stood still: elections, new topics, news of who is alive.", s.result.Interregnum)
	s.result.must(s.result.Interregnum > 0, "nothing could be written while nobody was the controller")
	return nil
}

// removalOf is the zxid under which the old /controller went.
func removalOf(zoo *follower) int64 {
	ev, _ := zoo.find(func(ev journal.Event) bool { return isWrite(ev, zkpaths.Controller, "delete") && ev.Result == "ok" })
	return ev.Zxid
}

// isWrite says whether the embedded ZooKeeper tells of this operation on this path.
func isWrite(ev journal.Event, path, op string) bool {
	return ev.Kind == journal.ZnodeWrite && ev.Path == path && ev.Text == op
}

// staleWrite does what the old controller would do if it had only been slow.
func (s *reignStory) staleWrite(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, demoWait)
	defer cancel()
	path := zkpaths.PartitionStatePath(demoTopic, 0)
	before, _, err := s.state(ctx, demoTopic)
	if err != nil {
		return err
	}
	_, err = s.zk.Multi(ctx, zk.CheckOp(zkpaths.ControllerEpoch, s.result.Before.Version), zk.SetOp(path, []byte(before.Data), zk.AnyVersion))
	var code zk.Code
	if !errors.As(err, &code) && err != nil {
		return err
	}
	s.result.StaleWrite = "ok"
	if err != nil {
		s.result.StaleWrite = code.Error()
	}
	after, _, err := s.state(ctx, demoTopic)
	if err != nil {
		return err
	}
	s.result.must(s.result.StaleWrite != "ok" && after == before, "a write of the old controller was carried out")
	s.say("Had the old one only been slow: each of its writes is a multi that checks /controller_epoch\nat v%d. We try one in its name: %s. Nothing was written.", s.result.Before.Version, s.result.StaleWrite)
	return nil
}

// govern has the new controller do something, and looks at the epoch it does it under.
func (s *reignStory) govern(ctx context.Context) error {
	const name = "new-reign"
	if err := s.createTopicOn(ctx, name, s.others(s.result.Old)); err != nil {
		return err
	}
	var now zkpaths.PartitionState
	var err error
	if s.result.State, now, err = s.state(ctx, name); err != nil {
		return err
	}
	f := s.brokers[s.result.New]
	if _, err := s.awaitEvent(ctx, f, "its journal has to show the requests", func(ev journal.Event) bool {
		return ev.Kind == journal.RequestAnswered && ev.To == "LeaderAndIsr"
	}); err != nil {
		return err
	}
	sent := func(ev journal.Event) bool { return ev.Kind == journal.RequestSent }
	var apis []string
	for _, ev := range f.all {
		if sent(ev) && !slices.Contains(apis, ev.To) {
			apis = append(apis, ev.To)
		}
	}
	s.result.Requests = f.count(sent)
	under := fmt.Sprint(now.ControllerEpoch)
	stale := f.count(func(ev journal.Event) bool { return sent(ev) && fmt.Sprint(ev.ControllerEpoch) != s.result.After.Epoch })
	s.result.must(stale == 0, "%d requests of the new controller carry another epoch", stale)
	s.result.must(under == s.result.After.Epoch, "a state znode of the new controller carries epoch %s", under)
	s.say("Broker %d governs: topic %s is made. All its %d requests (%s) carry\ncontroller epoch %s: a broker refuses a lower one with STALE_CONTROLLER_EPOCH.\nThe state znode, too: %s", s.result.New, name, s.result.Requests, strings.Join(apis, ", "), s.result.After.Epoch, s.result.State.Data)
	return nil
}

// compare reads everything and looks for what was acknowledged.
func (s *reignStory) compare(ctx context.Context) error {
	read, err := readBack(ctx, s.cluster.Bootstrap(), demoTopic)
	if err != nil {
		return err
	}
	_, s.result.Acknowledged = s.load.counts()
	s.result.Lost, _ = s.load.audit(read)
	s.result.must(len(s.result.Lost) == 0, "%d acknowledged records were lost", len(s.result.Lost))
	s.say("%d records acknowledged in all with acks=all, %d of them can be read: %d lost.", s.result.Acknowledged, s.result.Acknowledged-len(s.result.Lost), len(s.result.Lost))
	return nil
}
