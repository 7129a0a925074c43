package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"kz/client/producer"
	"kz/internal/journal"
	"kz/internal/up"
	"kz/internal/zk"
	"kz/zkpaths"
)

// zombieResult is what zombie-leader comes to.
type zombieResult struct {
	demoReport
	Zombie       int32     `json:"zombie"`
	Leader       int32     `json:"leader"` // its successor
	Before       demoState `json:"before"`
	Elected      demoState `json:"elected"`
	Rejoined     demoState `json:"rejoined"`
	StaleWrite   string    `json:"staleWrite"`   // what became of a write of the state znode at its old version
	Accepted     int       `json:"accepted"`     // records of acks=1 that lay in the frozen leader's socket and were acknowledged
	AcceptedLost []string  `json:"acceptedLost"` // those of them that are nowhere now
	Acknowledged int       `json:"acknowledged"` // with acks=all
	Lost         []string  `json:"lost"`         // with acks=all
}

// staleWriters is how many clients have a request in the frozen leader's socket. A broker
// reads one request of a connection at a time, so each needs a connection of its own.
const staleWriters = 5

// zombieStory is what the acts of zombie-leader share.
type zombieStory struct {
	*stage
	result     zombieResult
	controller int32
	pid        int         // of the zombie
	load       *demoLoad   // acks=all; goes on with the new leader
	one        []*demoLoad // acks=1; each waits for the leader it knows
	all        *demoLoad   // acks=all; likewise
	back       *follower   // the zombie's journal from the thaw on
}

// zombieLeader is the whole story.
func zombieLeader(ctx context.Context, n *narrator, dir string) (outcome, error) {
	st, err := openStage(ctx, n, dir)
	if err != nil {
		return nil, err
	}
	defer st.close() // SIGKILL ends a frozen process, too
	s := &zombieStory{stage: st}
	s.result.Changed, s.result.AcceptedLost = st.profile.Changed, []string{}
	s.load = newDemoWriter(s.cluster.Bootstrap(), demoTopic, "record", func(cfg *producer.Config) {
		cfg.Acks, cfg.Client.RequestTimeout, cfg.Client.ConnectTimeout = -1, time.Second, time.Second // it looks for another leader soon
	})
	defer s.load.close()
	for i := range staleWriters {
		w := newDemoWriter(s.cluster.Bootstrap(), demoTopic, fmt.Sprintf("acks=1, writer %d, record", i+1), func(cfg *producer.Config) { cfg.Acks = 1 })
		defer w.close()
		s.one = append(s.one, w)
	}
	s.all = newDemoWriter(s.cluster.Bootstrap(), demoTopic, "acks=all, patient record", func(cfg *producer.Config) { cfg.Acks = -1 })
	defer s.all.close()
	for _, act := range []func(context.Context) error{s.begin, s.freezeLeader, s.rejoin, s.compare} {
		if err := act(ctx); err != nil {
			return nil, err
		}
	}
	return &s.result, nil
}

// begin makes a partition whose leader is not the controller, and connects every writer
// to that leader.
func (s *zombieStory) begin(ctx context.Context) error {
	reign, err := s.readController(ctx)
	if err != nil {
		return err
	}
	s.controller = reign.id
	replicas := append(s.others(s.controller), s.controller)
	s.result.Zombie = replicas[0]
	if err := s.createTopicOn(ctx, demoTopic, replicas); err != nil {
		return err
	}
	if s.result.Before, _, err = s.state(ctx, demoTopic); err != nil {
		return err
	}
	if err := s.load.sendMany(ctx, 300); err != nil {
		return err
	}
	for _, w := range append(slices.Clone(s.one), s.all) {
		if err := w.sendMany(ctx, 1); err != nil {
			return err
		}
	}
	s.say("Topic %s has one partition on brokers %s; broker %d leads. Its state znode is v%d:\n%s\n%d clients write with acks=1, two with acks=all; all are connected to the leader.", demoTopic, ids(replicas), s.result.Zombie, s.result.Before.Version, s.result.Before.Data, staleWriters)
	return nil
}

// freezeLeader freezes it, puts requests into its socket, waits until another one leads,
// and thaws it.
func (s *zombieStory) freezeLeader(ctx context.Context) (err error) {
	for _, n := range s.cluster.Snapshot().Nodes {
		if n.Name == up.BrokerName(s.result.Zombie) {
			s.pid = n.PID
		}
	}
	zoo, err := s.follow("zookeeper")
	if err != nil {
		return err
	}
	controller, err := s.follow(up.BrokerName(s.controller))
	if err != nil {
		return err
	}
	stop := s.load.trickle(ctx)
	err = s.depose(ctx, zoo, controller)
	if err == nil {
		err = s.thawAndWatch(ctx)
	}
	if stopErr := stop(); err == nil && stopErr != nil {
		err = fmt.Errorf("the producer gave a record up: %w", stopErr)
	}
	return err
}

func (s *zombieStory) depose(ctx context.Context, zoo, controller *follower) error {
	frozen := time.Now()
	if err := freeze(s.pid); err != nil {
		return err
	}
	for _, w := range append(slices.Clone(s.one), s.all) {
		if err := w.send(ctx); err != nil {
			return err
		}
	}
	s.say("kill -STOP %d: broker %d is frozen. It is not dead: its connections stay open, and each of\nthe %d patient clients sends it one more record. They lie in its socket.", s.pid, s.result.Zombie, staleWriters+1)
	removal, err := s.awaitEvent(ctx, zoo, "ZooKeeper has to notice the silence", func(ev journal.Event) bool {
		return isWrite(ev, zkpaths.Broker(s.result.Zombie), "delete") && ev.Result == "ok"
	})
	if err != nil {
		return err
	}
	election, err := s.awaitEvent(ctx, controller, "the controller has to elect a leader", func(ev journal.Event) bool {
		return ev.Kind == journal.Election && ev.Topic == demoTopic
	})
	if err != nil {
		return err
	}
	s.result.Leader = election.Leader
	if err := s.await(ctx, "the new state has to be in ZooKeeper", demoWait, func() (bool, error) {
		now, st, err := s.state(ctx, demoTopic)
		s.result.Elected = now
		return st.Leader == election.Leader, err
	}); err != nil {
		return err
	}
	var first time.Time
	err = s.await(ctx, "the other client has to find the new leader", demoWait, func() (ok bool, err error) {
		first, ok = s.load.firstAckAfter(frozen.Add(demoLook)) // what was on its way at the freeze apart
		return ok, nil
	})
	s.say("Session %s expired, the controller elected broker %d: state znode v%d -> v%d:\n%s\nThe impatient client found it: acknowledged again %.1f s after the freeze.", removal.Session, s.result.Leader,
		s.result.Before.Version, s.result.Elected.Version, s.result.Elected.Data, first.Sub(frozen).Seconds())
	return err
}

// thawAndWatch lets the zombie answer what lies in its socket.
func (s *zombieStory) thawAndWatch(ctx context.Context) (err error) {
	if s.back, err = s.follow(up.BrokerName(s.result.Zombie)); err != nil {
		return err
	}
	if err := thaw(s.pid); err != nil {
		return err
	}
	for _, w := range append(slices.Clone(s.one), s.all) {
		if err := w.settle(ctx); err != nil {
			return err
		}
	}
	appended, err := s.awaitEvent(ctx, s.back, "its journal has to say whom it follows", func(ev journal.Event) bool {
		return ev.Kind == journal.BecameFollower && ev.Topic == demoTopic
	})
	if err != nil {
		return err
	}
	took := 0
	for _, ev := range s.back.all {
		if ev.Kind == journal.LeaderAppend && ev.Topic == demoTopic && ev.Seq < appended.Seq {
			took += int(ev.EndOffset - ev.Offset)
		}
	}
	if took == 0 {
		s.say("kill -CONT %d: two leaders? This time the zombie learned of its successor before it read what\nlay in its socket: it took no record.", s.pid)
		return nil
	}
	s.say("kill -CONT %d: it goes on as if no time had passed, and for a moment there are two leaders.\nUntil the controller told it (LeaderAndIsr, epoch %d) it took %d records into its own log.", s.pid, appended.LeaderEpoch, took)
	return nil
}

// rejoin waits until the zombie has cut its history back and is in sync again, and shows
// why it could not write itself back into the state znode.
func (s *zombieStory) rejoin(ctx context.Context) error {
	if err := s.conditionalWrite(ctx); err != nil {
		return err
	}
	err := s.await(ctx, fmt.Sprintf("broker %d has to catch up", s.result.Zombie), demoWait, func() (bool, error) {
		now, st, err := s.state(ctx, demoTopic)
		s.result.Rejoined = now
		return slices.Contains(st.ISR, s.result.Zombie), err
	})
	if err != nil {
		return err
	}
	s.back.read()
	cut := "It had nothing to cut off"
	if ev, ok := s.back.find(func(ev journal.Event) bool { return ev.Kind == journal.Truncation && ev.Topic == demoTopic }); ok {
		cut = fmt.Sprintf("It truncated its log to offset %d, where the new leader's history parts from its own", ev.Offset)
	}
	s.say("%s,\ncopied what it had missed, and is in the ISR again: state znode v%d:\n%s", cut, s.result.Rejoined.Version, s.result.Rejoined.Data)
	return nil
}

// conditionalWrite tells what became of the zombie's own write of the state znode. When it
// made none, we make it in its name: at the version that it remembers.
func (s *zombieStory) conditionalWrite(ctx context.Context) error {
	path := zkpaths.PartitionStatePath(demoTopic, 0)
	s.back.read()
	if ev, ok := s.back.find(func(ev journal.Event) bool { return ev.Kind == journal.ZnodeWrite && ev.Path == path }); ok {
		s.result.StaleWrite = ev.Result
		s.result.must(ev.Result != "ok", "the zombie wrote the state znode")
		s.say("It also tried to take its silent followers out of the ISR: a write of the state znode at the\nversion it knew, v%d: %s. Nothing was written.", s.result.Before.Version, ev.Result)
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, demoWait)
	defer cancel()
	_, err := s.zk.Set(ctx, path, []byte(s.result.Before.Data), s.result.Before.Version)
	var code zk.Code
	if err != nil && !errors.As(err, &code) {
		return err
	}
	s.result.StaleWrite = "ok"
	if err != nil {
		s.result.StaleWrite = code.Error()
	}
	s.result.must(err != nil, "a write of the state znode at its old version was carried out")
	s.say("It could not have written itself back: we try in its name, state at the version it knew, v%d:\n%s. Every such write is conditional.", s.result.Before.Version, s.result.StaleWrite)
	return nil
}

// compare reads everything and looks for what was acknowledged.
func (s *zombieStory) compare(ctx context.Context) error {
	read, err := readBack(ctx, s.cluster.Bootstrap(), demoTopic)
	if err != nil {
		return err
	}
	for _, w := range s.one {
		_, acked := w.counts()
		s.result.Accepted += acked - 1 // the first one was written before the freeze
		lost, _ := w.audit(read)
		s.result.AcceptedLost = append(s.result.AcceptedLost, lost...)
	}
	for _, w := range []*demoLoad{s.load, s.all} {
		_, acked := w.counts()
		lost, _ := w.audit(read)
		s.result.Acknowledged += acked
		s.result.Lost = append(s.result.Lost, lost...)
	}
	s.result.Lost = append([]string{}, s.result.Lost...)
	s.result.must(len(s.result.Lost) == 0, "%d records acknowledged with acks=all were lost", len(s.result.Lost))
	early := slices.DeleteFunc(slices.Clone(s.result.AcceptedLost), func(r string) bool { return strings.HasSuffix(r, " 2") })
	s.result.must(len(early) == 0, "records written before the freeze were lost: %s", strings.Join(early, ", "))
	if len(s.result.AcceptedLost) > 0 {
		s.say("acks=1: the %d clients got an acknowledgement for the record sent into the freeze, and %d of\nthese records are LOST, as %q. One replica's word was all they asked for.", s.result.Accepted, len(s.result.AcceptedLost), s.result.AcceptedLost[0])
	} else {
		s.say("acks=1: this time none of the %d records sent into the freeze is lost: the zombie refused them\nand the new leader has them. One replica's word is all that acks=1 asks for; it may be a zombie's.", s.result.Accepted)
	}
	s.say("acks=all: %d records acknowledged, %d lost. The zombie took such records, too, but nobody\ncopied them from it, so it never said yes; the client sent them again, to the new leader.", s.result.Acknowledged, len(s.result.Lost))
	return nil
}
