package fetcher

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"kz/broker/replica"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// scripted is a leader whose every answer the test gives. A nil function waits until
// the thread ends.
type scripted struct {
	ends  func(epochQuestion) epochAnswer
	fetch func(fetchRequest) *fetchAnswer

	mu      sync.Mutex // guards what follows while threads run: a second one may have the same leader
	asked   []epochQuestion
	fetched []fetchRequest
}

func (s *scripted) epochEnds(ctx context.Context, qs []epochQuestion) (out []epochAnswer, _ error) {
	s.mu.Lock()
	s.asked = append(s.asked, qs...)
	s.mu.Unlock()
	for _, q := range qs {
		out = append(out, s.ends(q))
	}
	return out, nil
}

func (s *scripted) listOffset(context.Context, topic.Partition, int32, int64) (int64, kafkaerr.Code, error) {
	return -1, kafkaerr.UnknownTopicOrPartition, nil
}

func (s *scripted) close() {}

type scriptedLeader struct{ *scripted }

func (l scriptedLeader) fetch(ctx context.Context, req fetchRequest) (*fetchAnswer, error) {
	l.mu.Lock()
	l.fetched = append(l.fetched, req)
	l.mu.Unlock()
	if l.scripted.fetch != nil {
		if a := l.scripted.fetch(req); a != nil {
			return a, nil
		}
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// follower is broker 2 with one batch of three records (offsets 0 to 2) of epoch 0,
// following a scripted leader at epoch 1.
func follower2(t *testing.T, c *cluster, s *scripted) *Manager {
	t.Helper()
	c.elect(orders, 1, 0, []int32{1, 2})
	<-c.produce(1, orders, all, "a", "b", "c")
	b := c.brokers[2]
	b.fetchers.Stop()
	cfg := c.fetch
	cfg.BrokerID = 2
	m := newManager(cfg, b.replicas, b.journal, zerolog.Nop(), func(source, *thread) leader { return scriptedLeader{s} })
	b.replicas.SetFetchers(m)
	t.Cleanup(m.Stop)
	return m
}

// The leader's epoch ended inside our batch: the batch goes whole, and the fetch goes
// on at the log's end, not at the offset that was answered.
func TestTruncationInsideABatch(t *testing.T) {
	bubble(t, 2, func(t *testing.T, c *cluster) {
		s := &scripted{ends: func(q epochQuestion) epochAnswer { return epochAnswer{q.id, 0, 0, 2} }}
		m := follower2(t, c, s)
		c.elect(orders, 1, 1, []int32{1}, 2)
		wait(time.Second)
		m.Stop()
		if end := c.status(2, orders).LogEnd; end != 0 {
			t.Errorf("log end %d: batches are cut whole", end)
		}
		if len(s.fetched) == 0 || s.fetched[0].send[0].offset != 0 {
			t.Errorf("%+v", s.fetched)
		}
	})
}

// The answer to a question of an older epoch is no answer: nothing is cut, and the
// question is asked again at the epoch that we are at.
func TestAnswerOfAnOlderEpochIsIgnored(t *testing.T) {
	bubble(t, 2, func(t *testing.T, c *cluster) {
		hold := make(chan struct{})
		s := &scripted{ends: func(q epochQuestion) epochAnswer {
			if q.leaderEpoch == 1 {
				<-hold
				return epochAnswer{q.id, 0, 0, 0} // would cut everything
			}
			return epochAnswer{q.id, 0, 0, 3}
		}}
		m := follower2(t, c, s)
		c.elect(orders, 1, 1, []int32{1}, 2)
		wait(time.Second)
		c.elect(orders, 1, 2, []int32{1}, 2)
		close(hold)
		wait(time.Second)
		m.Stop()
		if end := c.status(2, orders).LogEnd; end != 3 {
			t.Errorf("log end %d", end)
		}
		want := []epochQuestion{{orders, 1, 0}, {orders, 2, 0}}
		if !slices.Equal(s.asked, want) {
			t.Errorf("%+v", s.asked)
		}
	})
}

// Records that come for an offset we are no longer at are dropped; so are those of a
// partition that failed, until it is added again.
func TestFailedUntilAddedAgain(t *testing.T) {
	bubble(t, 2, func(t *testing.T, c *cluster) {
		s := &scripted{
			ends:  func(q epochQuestion) epochAnswer { return epochAnswer{q.id, 0, 0, 3} },
			fetch: func(req fetchRequest) *fetchAnswer { return nil },
		}
		m := follower2(t, c, s)
		first := true
		s.fetch = func(req fetchRequest) *fetchAnswer {
			if len(req.send) == 0 || !first {
				return nil
			}
			first = false
			return &fetchAnswer{parts: []fetched{{id: orders, code: kafkaerr.FencedLeaderEpoch}}}
		}
		c.elect(orders, 1, 1, []int32{1}, 2)
		wait(time.Second)
		if got := m.Failed(); len(got) != 1 {
			t.Fatalf("failed: %v", got)
		}
		m.Add(map[topic.Partition]replica.FetchStart{orders: {LeaderID: 1, LeaderEpoch: 1, Offset: 3}})
		wait(time.Second)
		if got := m.Failed(); len(got) != 0 {
			t.Errorf("failed: %v", got)
		}
		m.Stop()
		if n := len(s.fetched); n != 2 {
			t.Errorf("%d fetches, want one before and one after", n)
		}
	})
}

// A leader that returns at another address: the partitions go over to the new
// connection, also those that no LeaderAndIsr names.
func TestLeaderAtANewAddress(t *testing.T) {
	bubble(t, 2, func(t *testing.T, c *cluster) {
		var sources []source
		b := c.brokers[2]
		cfg := c.fetch
		cfg.BrokerID = 2
		s := &scripted{}
		m := newManager(cfg, b.replicas, b.journal, zerolog.Nop(), func(from source, _ *thread) leader {
			sources = append(sources, from)
			return scriptedLeader{s}
		})
		b.fetchers.Stop()
		b.replicas.SetFetchers(m)
		other := topic.Partition{Topic: "other"}
		c.elect(orders, 1, 0, []int32{1, 2})
		c.elect(other, 1, 0, []int32{1, 2})
		start := replica.FetchStart{LeaderID: 1, LeaderEpoch: 1}
		start.Leader.Host, start.Leader.Port = "elsewhere", 1234
		m.Add(map[topic.Partition]replica.FetchStart{orders: start})
		wait(time.Second)
		if len(sources) != 2 || sources[1].addr != "elsewhere:1234" {
			t.Fatalf("%+v", sources)
		}
		m.mu.Lock()
		n := m.threads[threadKey{1, 0}].count()
		m.mu.Unlock()
		if n != 2 {
			t.Errorf("%d partitions on the new connection, want both", n)
		}
		m.Stop()
	})
}
