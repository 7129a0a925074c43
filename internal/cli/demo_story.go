package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"kz/internal/journal"
	"kz/internal/up"
	"kz/zkpaths"
)

// killResult is what kill-a-broker comes to.
type killResult struct {
	demoReport
	Before       demoState `json:"before"`
	Elected      demoState `json:"elected"`
	Rejoined     demoState `json:"rejoined"`
	Acknowledged int       `json:"acknowledged"`
	Lost         []string  `json:"lost"`
	Duplicates   int       `json:"duplicates"`
}

// killStory is what the acts of kill-a-broker share.
type killStory struct {
	*stage
	result     killResult
	load       *demoLoad
	controller int32
	leader     int32 // who is killed
	killed     time.Time
}

// killABroker is the whole story, act by act. When it returns, no process is left.
func killABroker(ctx context.Context, n *narrator, dir string) (outcome, error) {
	st, err := openStage(ctx, n, dir)
	if err != nil {
		return nil, err
	}
	defer st.close()
	s := &killStory{stage: st}
	s.result.Changed, s.result.Lost = st.profile.Changed, []string{}
	s.load = newDemoLoad(s.cluster.Bootstrap(), demoTopic)
	defer s.load.close()
	for _, act := range []func(context.Context) error{s.createTopic, s.killLeader, s.compare, s.restart, s.compare} {
		if err := act(ctx); err != nil {
			return nil, err
		}
	}
	s.result.must(len(s.result.Lost) == 0, "%d acknowledged records were lost", len(s.result.Lost))
	return &s.result, nil
}

// createTopic makes a partition whose leader is not the controller: then the story has
// one election, not two.
func (s *killStory) createTopic(ctx context.Context) error {
	info, err := s.readController(ctx)
	if err != nil {
		return err
	}
	s.controller = info.id
	replicas := s.others(s.controller)
	s.leader = replicas[0]
	replicas = append(replicas, s.controller)
	if err := s.createTopicOn(ctx, demoTopic, replicas); err != nil {
		return err
	}
	if s.result.Before, _, err = s.state(ctx, demoTopic); err != nil {
		return err
	}
	s.say("Brokers 1, 2 and 3 serve; broker %d is the controller. Topic %s has one partition, with\nreplicas on %s. Its leader is broker %d. In ZooKeeper its state znode is v%d:\n%s",
		s.controller, demoTopic, ids(replicas), s.leader, s.result.Before.Version, s.result.Before.Data)
	const first = 500
	if err := s.load.sendMany(ctx, first); err != nil {
		return err
	}
	read, err := readBack(ctx, s.cluster.Bootstrap(), demoTopic)
	if err != nil {
		return err
	}
	_, acked := s.load.counts()
	lost, _ := s.load.audit(read)
	s.say("Before: %d records written with acks=all, %d acknowledged, %d of them can be read.", first, acked, acked-len(lost))
	return nil
}

// killLeader kills it while records are written, and follows what that sets off.
func (s *killStory) killLeader(ctx context.Context) error {
	zoo, err := s.follow("zookeeper")
	if err != nil {
		return err
	}
	controller, err := s.follow(up.BrokerName(s.controller))
	if err != nil {
		return err
	}
	stop := s.load.trickle(ctx)
	s.killed = time.Now()
	pid, err := s.cluster.KillBroker(s.leader)
	if err != nil {
		_ = stop()
		return err
	}
	s.say("kill -9 %d: broker %d, the leader, is gone, in the middle of writing. Nobody was told.", pid, s.leader)
	err = s.failover(ctx, zoo, controller)
	if stopErr := stop(); err == nil && stopErr != nil {
		err = fmt.Errorf("the producer gave a record up: %w", stopErr)
	}
	return err
}

func (s *killStory) failover(ctx context.Context, zoo, controller *follower) error {
	gone := func(ev journal.Event) bool {
		return ev.Kind == journal.ZnodeWrite && ev.Path == zkpaths.Broker(s.leader) && ev.VersionAfter < 0 && ev.Result == "ok"
	}
	if err := s.await(ctx, "ZooKeeper has to notice the silence", demoWait, func() (bool, error) { return zoo.has(gone), nil }); err != nil {
		return err
	}
	removal, _ := zoo.find(gone)
	expiry, _ := zoo.find(func(ev journal.Event) bool { return ev.Kind == journal.SessionExpired && ev.Session == removal.Session })
	s.say("ZooKeeper: session %s expired (%s).\nWith it went its ephemeral znode %s, which the controller watches.", expiry.Session, expiry.Text, removal.Path)

	elected := func(ev journal.Event) bool { return ev.Kind == journal.Election && ev.Topic == demoTopic }
	if err := s.await(ctx, "the controller has to elect a leader", demoWait, func() (bool, error) { return controller.has(elected), nil }); err != nil {
		return err
	}
	var moves []string
	for _, ev := range controller.all {
		if ev.Kind == journal.PartitionChange && ev.Topic == demoTopic {
			moves = append(moves, ev.From+" -> "+ev.To)
		}
	}
	election, _ := controller.find(elected)
	s.say("Controller (broker %d): %s-0 went %s. It elected broker %d, the first\nreplica that lives and is in sync: leader epoch %d, ISR %s.", s.controller, demoTopic, strings.Join(moves, ", "), election.Leader, election.LeaderEpoch, ids(election.ISR))

	var now zkpaths.PartitionState
	err := s.await(ctx, "the new state has to be in ZooKeeper", demoWait, func() (_ bool, err error) {
		s.result.Elected, now, err = s.state(ctx, demoTopic)
		return now.Leader == election.Leader, err
	})
	if err != nil {
		return err
	}
	was, err := zkpaths.DecodePartitionState([]byte(s.result.Before.Data))
	if err != nil {
		return err
	}
	s.say("State znode v%d -> v%d, leader epoch %d -> %d, ISR %s -> %s:\n%s", s.result.Before.Version, s.result.Elected.Version,
		was.LeaderEpoch, now.LeaderEpoch, ids(was.ISR), ids(now.ISR), s.result.Elected.Data)
	return s.producerGoesOn(ctx, time.Now())
}

// producerGoesOn waits for an acknowledgement by the new leader.
func (s *killStory) producerGoesOn(ctx context.Context, elected time.Time) error {
	var first time.Time
	err := s.await(ctx, "the producer has to find the new leader", demoWait, func() (ok bool, err error) {
		first, ok = s.load.firstAckAfter(elected.Add(-demoLook))
		return ok, nil
	})
	if err == nil {
		s.say("The producer kept retrying, asked for metadata and found the new leader: acknowledged\nagain %.1f s after the kill.", first.Sub(s.killed).Seconds())
	}
	return err
}

// compare reads everything and looks for what was acknowledged.
func (s *killStory) compare(ctx context.Context) error {
	read, err := readBack(ctx, s.cluster.Bootstrap(), demoTopic)
	if err != nil {
		return err
	}
	_, s.result.Acknowledged = s.load.counts()
	s.result.Lost, s.result.Duplicates = s.load.audit(read)
	verdict := "none lost"
	if n := len(s.result.Lost); n > 0 {
		verdict = fmt.Sprintf("%d LOST: %s ...", n, s.result.Lost[0])
	}
	s.say("After: %d records acknowledged in all, %d of them can be read: %s.", s.result.Acknowledged, s.result.Acknowledged-len(s.result.Lost), verdict)
	if s.result.Duplicates > 0 && s.result.Rejoined.Data == "" {
		s.say("%d records are there twice: written, not answered, sent again. Not losing is what acks=all\npromises; not doubling takes an idempotent producer.", s.result.Duplicates)
	}
	return nil
}

// restart brings the dead broker back.
func (s *killStory) restart(ctx context.Context) error {
	back, err := s.follow(up.BrokerName(s.leader))
	if err != nil {
		return err
	}
	fmt.Fprintf(s.e.stderr, "         ... broker %d starts again (at most %v)\n", s.leader, demoWait)
	starting, cancel := context.WithTimeout(ctx, demoWait)
	defer cancel()
	if err := s.cluster.StartBroker(starting, s.leader); err != nil {
		return err
	}
	inSync := func() (bool, error) {
		var now zkpaths.PartitionState
		s.result.Rejoined, now, err = s.state(ctx, demoTopic)
		return slices.Contains(now.ISR, s.leader), err
	}
	if err := s.await(ctx, fmt.Sprintf("broker %d has to catch up", s.leader), demoWait, inSync); err != nil {
		return err
	}
	follows := func(ev journal.Event) bool { return ev.Kind == journal.BecameFollower && ev.Topic == demoTopic }
	if err := s.await(ctx, "its journal has to say so", demoWait, func() (bool, error) { return back.has(follows), nil }); err != nil {
		return err
	}
	cut := "It had nothing to truncate"
	if ev, ok := back.find(func(ev journal.Event) bool { return ev.Kind == journal.Truncation && ev.Topic == demoTopic }); ok {
		cut = fmt.Sprintf("It truncated its log to offset %d, where the new leader's history parts from its own,", ev.Offset)
	}
	f, _ := back.find(follows)
	s.say("Broker %d is started again, on its old data. It follows broker %d at leader epoch %d.\n%s and copied what it had missed.", s.leader, f.Leader, f.LeaderEpoch, cut)
	s.say("The leader took it back into the ISR: state znode v%d -> v%d:\n%s", s.result.Elected.Version, s.result.Rejoined.Version, s.result.Rejoined.Data)
	return nil
}
