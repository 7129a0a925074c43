package fetcher

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"kz/broker/commitlog"
	"kz/broker/replica"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// logsOnly is the part of the replica manager that building a request needs.
type logsOnly map[topic.Partition]*commitlog.Log

func (l logsOnly) FollowerLog(id topic.Partition) (*commitlog.Log, error) {
	if log := l[id]; log != nil {
		return log, nil
	}
	return nil, kafkaerr.NotLeaderOrFollower
}

func (logsOnly) FollowerAppend(topic.Partition, int32, []byte, int64, int64) (commitlog.AppendInfo, error) {
	panic("nothing is appended here")
}
func (logsOnly) FollowerTruncate(topic.Partition, int64) error { panic("nothing is truncated here") }
func (logsOnly) FollowerTruncateFully(topic.Partition, int64) error {
	panic("nothing is truncated here")
}

// walked is what a request must make the leader remember: the terms of every partition
// that may be fetched now, found by a walk over all.
func walked(t *thread, now time.Time) map[topic.Partition]fetchTerms {
	out := map[topic.Partition]fetchTerms{}
	for id, p := range t.parts.at {
		log, err := t.m.replica.FollowerLog(id)
		if p.phase == fetching && !p.delayed(now) && err == nil {
			out[id] = fetchTerms{p.offset, log.StartOffset(), p.leaderEpoch}
		}
	}
	return out
}

// Random lives of partitions: the leader, who hears only of changes, must know after each
// request what a walk over all partitions finds. KZ_SEED repeats a run.
func TestRequestsOfChangesAgainstAWalk(t *testing.T) {
	seed := rand.Uint64()
	if s, err := strconv.ParseUint(os.Getenv("KZ_SEED"), 10, 64); err == nil {
		seed = s
	}
	t.Logf("KZ_SEED=%d", seed)
	r := rand.New(rand.NewPCG(seed, 0))

	const partitions = 12
	logs, err := commitlog.NewManager(commitlog.ManagerConfig{Dirs: []string{t.TempDir()}, Defaults: commitlog.DefaultConfig()}, nil, zerolog.Nop())
	if err == nil {
		err = logs.Load(func(string) (commitlog.Config, bool) { return commitlog.Config{}, false })
	}
	if err != nil {
		t.Fatal(err)
	}
	defer logs.Kill()
	have := logsOnly{}
	for n := range int32(partitions - 1) { // the last one has none
		if have[tp(n)], err = logs.GetOrCreate(tp(n), commitlog.DefaultConfig(), true); err != nil {
			t.Fatal(err)
		}
	}
	m := newManager(Config{Backoff: time.Second, NumFetchers: 1}, have, nil, zerolog.Nop(), func(source, *thread) leader { return nil })
	th := newThread(m, threadKey{2, 0}, source{broker: 2})

	now := time.Now()
	remembered := map[topic.Partition]fetchTerms{} // the leader's
	named, steps := 0, 3000
	for step := range steps {
		for range r.IntN(3) {
			change(th, r, tp(r.Int32N(partitions)), now)
		}
		now = now.Add(time.Duration(r.IntN(300)) * time.Millisecond)
		req := th.sent.build(th.ready(now, th.sent.full()))
		if req.full() {
			clear(remembered)
		}
		for _, w := range req.send {
			if old, known := remembered[w.id]; known && old == w.fetchTerms {
				t.Fatalf("step %d: %v is named, and is as it was", step, w.id)
			}
			remembered[w.id] = w.fetchTerms
		}
		for _, id := range req.forget {
			delete(remembered, id)
		}
		if want := walked(th, now); !maps.Equal(remembered, want) {
			t.Fatalf("step %d: the leader remembers %v\na walk finds %v", step, remembered, want)
		}
		named += len(req.send)
		if r.IntN(50) == 0 {
			th.sent.lost()
		} else if err := th.sent.answered(req, answerTo(req)); err != nil {
			t.Fatal(err)
		}
	}
	if named > steps*partitions/2 {
		t.Errorf("%d requests named %d partitions", steps, named)
	}
}

func answerTo(req fetchRequest) *fetchAnswer {
	a := &fetchAnswer{sessionID: 7}
	for _, w := range req.send {
		a.parts = append(a.parts, fetched{id: w.id})
	}
	return a
}

// change is one thing that happens to a partition of a thread.
func change(t *thread, r *rand.Rand, id topic.Partition, now time.Time) {
	p := t.parts.get(id)
	switch what := r.IntN(6); {
	case p == nil || what == 0:
		t.add(map[topic.Partition]replica.FetchStart{id: {LeaderEpoch: r.Int32N(3)}})
	case what == 1:
		t.remove(id)
	case what == 2:
		p.phase = fetching // as truncate leaves it
		t.parts.touch(p)
	case what == 3 && p.phase == fetching: // as append leaves it
		p.offset++
		t.parts.moveToEnd(p)
	case what == 4:
		t.parts.rest(p, now.Add(t.m.cfg.Backoff))
	}
}

// The order of a full request is the order in which partitions had records.
func TestPartitionsOrder(t *testing.T) {
	ps := newPartitions()
	for n := range int32(4) {
		ps.put(&partition{id: tp(n)})
	}
	ps.moveToEnd(ps.get(tp(1)))
	ps.remove(tp(2))
	ps.put(&partition{id: tp(0)})
	var got []string
	for _, p := range ps.all() {
		got = append(got, fmt.Sprint(p.id.Partition))
	}
	if !slices.Equal(got, []string{"3", "1", "0"}) {
		t.Errorf("order %v", got)
	}
	changed, gone := ps.takeChanged()
	if len(changed) != 3 || len(gone) != 1 {
		t.Errorf("all is new: %d, and 2 gone: %v", len(changed), gone)
	}
	if changed, gone = ps.takeChanged(); len(changed)+len(gone) != 0 {
		t.Errorf("nothing changed since: %v %v", changed, gone)
	}
}
