package replica

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"kz/broker/metadata"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// Two brokers live the same random life, second by virtual second: appends, elections,
// deletions, raised log starts, followers that lag and leave the ISR, consumers. They
// differ in how they serve fetch sessions. One does it as the package does. The other
// does it the plain way: each fetch reads every partition of the session, and a waiting
// one watches every partition. All answers, when they come, and every high watermark and
// ISR must be the same. KZ_SEED repeats a run.
func TestSessionsAgainstAFullWalk(t *testing.T) {
	first := rand.Uint64()
	runs := uint64(10)
	if s, err := strconv.ParseUint(os.Getenv("KZ_SEED"), 10, 64); err == nil {
		first, runs = s, 1
	}
	for seed := first; seed < first+runs; seed++ {
		visited := [2]int{}
		synctest.Test(t, func(t *testing.T) {
			l := newLife(t, rand.New(rand.NewPCG(seed, 0)))
			for step := range 400 {
				what := l.step()
				synctest.Wait()
				if a, b := l.worlds[0].report(), l.worlds[1].report(); a != b {
					t.Errorf("KZ_SEED=%d step %d, %s:\nsession: %s\nwalk:    %s", seed, step, what, a, b)
					break
				}
				l.learn()
			}
			for i, w := range l.worlds {
				visited[i] = w.visited
				w.stop()
			}
		})
		if t.Failed() {
			return
		}
		if visited[0]*10 > visited[1]*9 { // with so few partitions, most of them in trouble, little is spared
			t.Errorf("KZ_SEED=%d: the sessions began %d visits, the walks %d", seed, visited[0], visited[1])
		}
	}
}

const lifePartitions = 12

// life is what happens to both worlds, and what the clients know.
type life struct {
	r       *rand.Rand
	worlds  [2]*world
	readers []*modelReader
}

// world is one of the two brokers. Answers are kept as text, to be compared.
type world struct {
	*broker1
	walks   bool
	cache   *FetchSessionCache
	visited int

	mu      sync.Mutex // guards ids and answers
	ids     []int32    // session by reader
	answers []lifeAnswer
}

// modelReader is a client: follower 2 or 3, or a consumer.
type modelReader struct {
	n         int
	replica   int32
	epoch     int32                             // of the next request
	want      map[topic.Partition]*lifePosition // in the session, if epoch > 0
	dropped   []topic.Partition
	requests  int // sent
	unanswerd int
	minBytes  int
}

type lifePosition struct {
	offset, logStart int64
	leaderEpoch      int32
	said             bool
}

type lifeAnswer struct {
	reader, request int
	epoch           int32
	code            kafkaerr.Code
	id              int32
	results         []FetchResult
	data            [][]byte
}

func newLife(t *testing.T, r *rand.Rand) *life {
	l := &life{r: r}
	for i, replica := range []int32{2, 3, -1, -1} {
		l.readers = append(l.readers, &modelReader{n: i, replica: replica, want: map[topic.Partition]*lifePosition{}, minBytes: 1 + 200*(i/3)})
	}
	for i := range l.worlds {
		l.worlds[i] = &world{broker1: newBroker1(t), walks: i == 1, cache: NewFetchSessionCache(10, 2*time.Minute), ids: make([]int32, len(l.readers))}
	}
	for n := range int32(lifePartitions) {
		l.both(func(w *world) { w.know(tp(n), 1); w.lead(tp(n), 1, 2, 3) })
		for _, reader := range l.readers {
			reader.want[tp(n)] = &lifePosition{leaderEpoch: -1}
		}
	}
	return l
}

func (l *life) both(f func(*world)) {
	for _, w := range l.worlds {
		f(w)
	}
}

// step does one thing and says what.
func (l *life) step() string {
	id := tp(min(l.r.Int32N(lifePartitions), l.r.Int32N(lifePartitions), l.r.Int32N(lifePartitions))) // some are hot
	switch what := l.r.IntN(100); {
	case what < 20:
		n := 1 + l.r.IntN(4)
		l.both(func(w *world) { w.produce(id, 1, 0, n) })
		return fmt.Sprint("append to ", id)
	case what < 75:
		return l.fetch(l.readers[l.r.IntN(len(l.readers))])
	case what < 85:
		d := []time.Duration{time.Millisecond, 100 * time.Millisecond, time.Second, 20 * time.Second}[l.r.IntN(4)]
		time.Sleep(d) // virtual
		return fmt.Sprint("wait ", d)
	case what < 88:
		l.both(func(w *world) { w.lead(id, 1, 2) })
		return fmt.Sprint("lead ", id)
	case what < 90:
		l.both(func(w *world) { w.follow(id, 2) })
		return fmt.Sprint("follow ", id)
	case what < 92:
		l.both(func(w *world) { w.forget(id) })
		return fmt.Sprint("delete ", id)
	case what < 94:
		leader := []int32{1, metadata.LeaderDuringDelete}[l.r.IntN(2)]
		l.both(func(w *world) { w.know(id, leader) })
		return fmt.Sprint("metadata of ", id, ": leader ", leader)
	case what < 97:
		l.both(func(w *world) {
			if log, ok := w.logs.Get(id); ok {
				_ = log.MaybeIncrementStartOffset(log.HighWatermark())
			}
		})
		return fmt.Sprint("log start of ", id)
	}
	reader := l.readers[l.r.IntN(len(l.readers))]
	if p := reader.want[id]; p != nil {
		delete(reader.want, id)
		reader.dropped = append(reader.dropped, id)
		return fmt.Sprint("reader ", reader.n, " drops ", id)
	}
	reader.want[id] = &lifePosition{leaderEpoch: -1}
	return fmt.Sprint("reader ", reader.n, " takes ", id)
}

// know is an UpdateMetadata.
func (w *world) know(id topic.Partition, leader int32) {
	s := w.m.deps.Metadata.Current()
	u := metadata.Update{ControllerID: 1, ControllerEpoch: 1, Partitions: map[topic.Partition]metadata.PartitionState{id: {Leader: leader}}}
	for _, b := range s.Brokers {
		u.Brokers = append(u.Brokers, b)
	}
	w.m.UpdateMetadata(u)
}

func (w *world) forget(id topic.Partition) {
	w.m.StopReplicas(1, 1, map[topic.Partition]StopState{id: {LeaderEpoch: deletedEpoch, Delete: true}})
	delete(w.epoch, id)
}

// fetch sends a reader's next request. A reader that has waited for two answers waits on.
func (l *life) fetch(c *modelReader) string {
	if c.unanswerd == 2 || c.unanswerd == 1 && l.r.IntN(10) > 0 {
		return fmt.Sprint("reader ", c.n, " waits")
	}
	var parts []FetchPartition
	ids := make([]topic.Partition, 0, len(c.want))
	for id := range c.want {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, topic.Partition.Compare)
	for _, id := range ids {
		p := c.want[id]
		if l.r.IntN(40) == 0 {
			p.leaderEpoch, p.said = int32(l.r.IntN(4)-1), false
		}
		if c.epoch == 0 || !p.said {
			parts = append(parts, FetchPartition{
				Partition: id, Offset: p.offset, LogStartOffset: p.logStart, MaxBytes: 150,
				CurrentLeaderEpoch: p.leaderEpoch, LastFetchedEpoch: -1,
			})
			p.said = true
		}
	}
	forgotten := c.dropped
	c.dropped = nil
	if l.r.IntN(60) == 0 {
		c.epoch++ // out of step
	}
	params := FetchParams{ReplicaID: c.replica, MaxWait: 500 * time.Millisecond, MinBytes: c.minBytes, MaxBytes: 200 + l.r.IntN(400), AnyReplica: l.r.IntN(20) == 0}
	l.both(func(w *world) { w.request(c, params, slices.Clone(parts), forgotten) })
	what := fmt.Sprintf("reader %d fetches, epoch %d, names %v", c.n, c.epoch, numbers(parts))
	c.requests++
	c.unanswerd++
	c.epoch = NextFetchEpoch(c.epoch)
	return what
}

func (w *world) request(c *modelReader, p FetchParams, parts []FetchPartition, forgotten []topic.Partition) {
	a := lifeAnswer{reader: c.n, request: c.requests, epoch: c.epoch}
	w.mu.Lock()
	id := w.ids[c.n]
	w.mu.Unlock()
	x := w.cache.NewContext(id, c.epoch, parts, forgotten, c.replica >= 0)
	respond := func(rs []FetchResult) {
		a.id, a.code, a.results = x.Finish(rs)
		for i := range a.results {
			data, _ := a.results[i].Data.ReadAll()
			a.data = append(a.data, data)
			a.results[i].Release()
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if a.epoch == 0 {
			w.ids[c.n] = a.id
		}
		w.answers = append(w.answers, a)
	}
	if x.Code() != 0 {
		respond(nil)
		return
	}
	x.Refuse(func(p *FetchPartition) kafkaerr.Code {
		if _, ok := w.m.deps.Metadata.Current().Partition(p.Partition); !ok {
			return kafkaerr.UnknownTopicOrPartition
		}
		return kafkaerr.None
	})
	if !w.walks {
		x.begin(p.reader(), time.Now())
		w.visited += len(x.Partitions())
		w.m.FetchIn(x, p, respond)
		return
	}
	x.VisitAll()
	all := x.Partitions()
	w.visited += len(all)
	w.m.Fetch(p, all, respond)
}

// report is all that must be equal in the two worlds.
func (w *world) report() string {
	var b strings.Builder
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.SortFunc(w.answers, func(a, b lifeAnswer) int { // one append may answer several, in any order
		return cmp.Or(cmp.Compare(a.reader, b.reader), cmp.Compare(a.request, b.request))
	})
	for _, a := range w.answers {
		if a.code == kafkaerr.InvalidFetchSessionEpoch && a.id != NoFetchSession {
			continue // a request that the client gave up; when it ends is nobody's matter
		}
		fmt.Fprintf(&b, "\n reader %d request %d: %v session %v:", a.reader, a.request, a.code, a.id != 0)
		for i, r := range a.results {
			fmt.Fprintf(&b, " [%v %s hw %d start %d %d bytes]", r.Partition, r.Code.Name(), r.HighWatermark, r.LogStartOffset, len(a.data[i]))
		}
	}
	for _, s := range w.m.Status() {
		fmt.Fprintf(&b, "\n %v leader %d epoch %d isr %v start %d hw %d end %d", s.Partition, s.Leader, s.LeaderEpoch, s.ISR, s.LogStart, s.HighWatermark, s.LogEnd)
	}
	return b.String()
}

// learn tells the readers what was answered.
func (l *life) learn() {
	var answers []lifeAnswer
	l.both(func(w *world) {
		w.mu.Lock()
		defer w.mu.Unlock()
		answers, w.answers = w.answers, nil // the second world's are equal to the first's
	})
	for _, a := range answers {
		c := l.readers[a.reader]
		c.unanswerd--
		if a.code != 0 || a.epoch == 0 && a.id == 0 {
			c.epoch = 0
			continue
		}
		for i, r := range a.results {
			p := c.want[r.Partition]
			switch {
			case p == nil:
			case r.Code == kafkaerr.OffsetOutOfRange:
				p.offset, p.said = 0, false
				if log, ok := l.worlds[0].logs.Get(r.Partition); ok {
					p.offset = log.EndOffset()
				}
			case r.Code == 0:
				if next := afterBatches(a.data[i]); next > p.offset && l.r.IntN(10) > 0 { // or it is asked for again
					p.offset, p.said = next, false
				}
				if p.logStart < r.LogStartOffset && c.replica >= 0 {
					p.logStart, p.said = r.LogStartOffset, false
				}
			}
		}
	}
}

// afterBatches is the offset that follows the last whole batch, -1 without one.
func afterBatches(data []byte) int64 {
	next := int64(-1)
	for len(data) >= 61 {
		size := 12 + int(binary.BigEndian.Uint32(data[8:]))
		if size > len(data) {
			break
		}
		next = int64(binary.BigEndian.Uint64(data)) + int64(binary.BigEndian.Uint32(data[23:])) + 1
		data = data[size:]
	}
	return next
}
