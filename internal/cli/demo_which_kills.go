package cli

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"kz/internal/zk"
	"kz/zkpaths"
)

// killEach kills every broker once, in an order that chance decides, while records are written.
func (s *whichStory) killEach(ctx context.Context) error {
	stop := s.load.trickle(ctx)
	var err error
	for _, i := range rand.Perm(3) {
		if err = s.killOne(ctx, int32(i+1)); err != nil {
			break
		}
	}
	if stopErr := stop(); err == nil && stopErr != nil {
		err = fmt.Errorf("the producer gave a record up: %w", stopErr)
	}
	return err
}

func (s *whichStory) killOne(ctx context.Context, victim int32) error {
	before, err := s.states(ctx)
	if err != nil {
		return err
	}
	reign, err := s.readController(ctx)
	if err != nil {
		return err
	}
	k := whichKill{Broker: victim, Controller: reign.id == victim, Led: ledBy(before, victim)}
	killed := time.Now()
	if err := s.seats.killBroker(victim); err != nil {
		return err
	}
	err = s.await(ctx, fmt.Sprintf("broker %d is killed; others have to lead", victim), whichWait, func() (bool, error) {
		now, err := s.states(ctx)
		return ledBy(now, victim)+ledBy(now, noLeader) == 0, err
	})
	if err != nil {
		return err
	}
	k.ElectedMs = time.Since(killed).Milliseconds()
	starting, cancel := context.WithTimeout(ctx, whichWait)
	defer cancel()
	if err := s.await(ctx, fmt.Sprintf("ZooKeeper has to forget broker %d", victim), whichWait, func() (bool, error) {
		_, there, err := s.zk.Exists(ctx, zkpaths.Broker(victim))
		return !there, err
	}); err != nil {
		return err
	}
	began := time.Now()
	if err := s.seats.startBroker(starting, victim); err != nil {
		return err
	}
	k.ServesMs = time.Since(began).Milliseconds()
	if err := s.await(ctx, fmt.Sprintf("broker %d serves again and has to catch up", victim), whichWait, func() (bool, error) {
		now, err := s.states(ctx)
		return inSync(now), err
	}); err != nil {
		return err
	}
	k.InSyncMs, k.Acked = time.Since(began).Milliseconds(), s.load.ackedBetween(killed, time.Now())
	if reign, err = s.readController(ctx); err != nil {
		return err
	}
	k.Controls = reign.id
	s.result.Kills = append(s.result.Kills, k)
	s.tellKill(k)
	return nil
}

// tellKill leaves out how long the broker took to come back: that would give it away.
func (s *whichStory) tellKill(k whichKill) {
	what, succession := fmt.Sprintf("leader of %d partitions", k.Led), ""
	if k.Controller {
		what, succession = "the controller, "+what, fmt.Sprintf("Broker %d is the controller now.\n", k.Controls)
	}
	s.say("kill -9 of broker %d, %s: others lead after %.1f s. %sThe dead one is back, in sync.", k.Broker, what, seconds(k.ElectedMs), succession)
}

func seconds(ms int64) float64 { return float64(ms) / 1000 }

// leadersBack gives each partition to its first replica, as kafka-preferred-replica-election.sh does. One
// that is not in sync would not be elected.
func (s *whichStory) leadersBack(ctx context.Context) error {
	if err := s.await(ctx, "all replicas have to be in sync", whichWait, func() (bool, error) {
		now, err := s.states(ctx)
		return inSync(now), err
	}); err != nil {
		return err
	}
	var all []zkpaths.TopicPartition
	for p := range int32(whichPartitions) {
		all = append(all, zkpaths.TopicPartition{Topic: demoTopic, Partition: p})
	}
	if _, err := s.zk.Multi(ctx, zk.CreateOp(zkpaths.PreferredReplicaElection, zkpaths.EncodePreferredElection(all))); err != nil {
		return err
	}
	return s.await(ctx, "each broker has to lead its ten partitions again", whichWait, func() (bool, error) {
		now, err := s.states(ctx)
		if err != nil {
			return false, err
		}
		for p, st := range now {
			if st.Leader != int32(p)%3+1 {
				return false, nil
			}
		}
		_, there, err := s.zk.Exists(ctx, zkpaths.PreferredReplicaElection)
		return !there, err
	})
}

// noLeader is what a state znode names when nobody leads.
const noLeader = -1

// states reads the state znodes of all partitions.
func (s *whichStory) states(ctx context.Context) ([]zkpaths.PartitionState, error) {
	var out []zkpaths.PartitionState
	for p := range int32(whichPartitions) {
		data, _, err := s.zk.Get(ctx, zkpaths.PartitionStatePath(demoTopic, p))
		if err != nil {
			return nil, err
		}
		st, err := zkpaths.DecodePartitionState(data)
		if err != nil {
			return nil, err
		}
		out = append(out, st)
	}
	return out, nil
}

func ledBy(states []zkpaths.PartitionState, id int32) int {
	n := 0
	for _, st := range states {
		if st.Leader == id {
			n++
		}
	}
	return n
}

// inSync says whether all three replicas of every partition are.
func inSync(states []zkpaths.PartitionState) bool {
	for _, st := range states {
		if st.Leader == noLeader || len(st.ISR) < 3 {
			return false
		}
	}
	return len(states) > 0
}
