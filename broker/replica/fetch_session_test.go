package replica

import (
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"kz/broker/commitlog"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

func tp(n int32) topic.Partition { return topic.Partition{Topic: "orders", Partition: n} }

func asks(offset int64, partitions ...int32) []FetchPartition {
	var out []FetchPartition
	for _, n := range partitions {
		out = append(out, FetchPartition{Partition: tp(n), Offset: offset, MaxBytes: 100, CurrentLeaderEpoch: -1, LastFetchedEpoch: -1})
	}
	return out
}

func numbers(ps []FetchPartition) (out []int32) {
	for _, p := range ps {
		out = append(out, p.Partition.Partition)
	}
	return out
}

// results gives every partition of a context the marks hw and start, and those in
// withData some bytes.
func results(x *FetchContext, hw, start int64, withData ...int32) []FetchResult {
	var out []FetchResult
	for _, p := range x.Partitions() {
		r := FailedFetch(p.Partition, kafkaerr.None)
		r.HighWatermark, r.LogStartOffset = hw, start
		if slices.Contains(withData, p.Partition.Partition) {
			r.Data = commitlog.Slice{Length: 10}
		}
		out = append(out, r)
	}
	return out
}

func answered(rs []FetchResult) (out []int32) {
	for _, r := range rs {
		out = append(out, r.Partition.Partition)
	}
	return out
}

// begin makes a session of three partitions, answered at high watermark 5.
func begin(t *testing.T, c *FetchSessionCache, follower bool) int32 {
	t.Helper()
	x := c.NewContext(0, 0, asks(0, 1, 2, 3), nil, follower)
	id, code, _ := x.Finish(results(x, 5, 0))
	if id == NoFetchSession || code != kafkaerr.None {
		t.Fatalf("no session: id %d, %v", id, code)
	}
	return id
}

// Ref: Kafka 2.8 common/requests/FetchMetadata.java, nextEpoch.
func TestNextFetchEpoch(t *testing.T) {
	for _, row := range []struct {
		name    string
		e, want int32
	}{
		{"after the full fetch", 0, 1},
		{"one more each time", 7, 8},
		{"wraps to 1, because 0 means a full fetch", math.MaxInt32, 1},
		{"final stays final", -1, -1},
	} {
		if got := NextFetchEpoch(row.e); got != row.want {
			t.Errorf("%s: got %d, want %d", row.name, got, row.want)
		}
	}
}

// Ref: Kafka 2.8 server/FetchSession.scala; KIP-227.
func TestFetchSessionProtocol(t *testing.T) {
	c := NewFetchSessionCache(10, 2*time.Minute)

	x := c.NewContext(0, -1, asks(0, 1, 2), nil, false)
	if id, code, rs := x.Finish(results(x, 5, 0)); id != 0 || code != 0 || len(rs) != 2 || c.Len() != 0 {
		t.Fatalf("(0,-1) must not make a session: id %d, %v, %d results", id, code, len(rs))
	}
	if x := c.NewContext(99, 1, nil, nil, false); x.Code() != kafkaerr.FetchSessionIDNotFound {
		t.Fatalf("unknown session: %v", x.Code())
	}

	id := begin(t, c, false)
	if x := c.NewContext(id, 2, nil, nil, false); x.Code() != kafkaerr.InvalidFetchSessionEpoch {
		t.Fatalf("an epoch ahead: %v", x.Code())
	}
	x = c.NewContext(id, 1, nil, nil, false) // the right epoch works after a wrong one
	if x.Code() != 0 || !slices.Equal(numbers(x.Partitions()), []int32{1, 2, 3}) {
		t.Fatalf("an empty request means the whole session: %v %v", x.Code(), numbers(x.Partitions()))
	}
	if got, _, rs := x.Finish(results(x, 5, 0)); got != id || len(rs) != 0 {
		t.Fatalf("nothing new: id %d, answered %v", got, answered(rs))
	}
	if x := c.NewContext(id, 1, nil, nil, false); x.Code() != kafkaerr.InvalidFetchSessionEpoch {
		t.Fatalf("a repeated epoch: %v", x.Code())
	}

	x = c.NewContext(id, 2, asks(7, 2, 4), []topic.Partition{tp(1)}, false)
	if got := numbers(x.Partitions()); !slices.Equal(got, []int32{2, 3, 4}) {
		t.Fatalf("1 forgotten, 4 added: %v", got)
	}
	if x.Partitions()[0].Offset != 7 {
		t.Fatal("the changed offset of 2 was not taken")
	}
	if _, _, rs := x.Finish(results(x, 5, 0, 2)); !slices.Equal(answered(rs), []int32{2, 4}) {
		t.Fatalf("data in 2, first answer of 4: %v", answered(rs))
	}

	x = c.NewContext(id, 3, nil, nil, false)
	if got := numbers(x.Partitions()); !slices.Equal(got, []int32{3, 2, 4}) {
		t.Fatalf("who was answered goes to the end: %v", got)
	}
	x.Finish(results(x, 5, 0))

	x = c.NewContext(id, 4, nil, []topic.Partition{tp(2), tp(3), tp(4)}, false)
	if got, _, _ := x.Finish(nil); got != 0 || c.Len() != 0 {
		t.Fatalf("an empty session is closed: id %d, %d left", got, c.Len())
	}
}

func TestFetchSessionNews(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*FetchResult)
		want   bool
	}{
		{"nothing new", func(*FetchResult) {}, false},
		{"data", func(r *FetchResult) { r.Data = commitlog.Slice{Length: 1} }, true},
		{"a new high watermark", func(r *FetchResult) { r.HighWatermark++ }, true},
		{"a new log start", func(r *FetchResult) { r.LogStartOffset++ }, true},
		{"a preferred replica", func(r *FetchResult) { r.PreferredReadReplica = 2 }, true},
		{"a diverging epoch", func(r *FetchResult) { r.DivergingEpoch = 0 }, true},
		{"an error", func(r *FetchResult) { r.Code = kafkaerr.NotLeaderOrFollower }, true},
		{"a new last stable offset alone", func(r *FetchResult) { r.LastStableOffset++ }, false},
	} {
		c := NewFetchSessionCache(10, 2*time.Minute)
		x := c.NewContext(begin(t, c, false), 1, nil, nil, false)
		rs := results(x, 5, 0)
		row.change(&rs[1])
		_, _, rs = x.Finish(rs)
		if got := len(rs) > 0; got != row.want {
			t.Errorf("%s: answered %v, want %v", row.name, got, row.want)
		}
	}
}

func TestFetchSessionTellsTheEndOfAnError(t *testing.T) {
	c := NewFetchSessionCache(10, 2*time.Minute)
	id := begin(t, c, false)
	x := c.NewContext(id, 1, nil, nil, false)
	rs := results(x, 5, 0)
	rs[0].Code = kafkaerr.KafkaStorageError
	x.Finish(rs)
	x = c.NewContext(id, 2, nil, nil, false)
	if _, _, rs := x.Finish(results(x, 5, 0)); !slices.Equal(answered(rs), []int32{1}) {
		t.Fatalf("the partition whose error ended must be answered: %v", answered(rs))
	}
}

func TestFetchSessionAnsweredOutOfTurn(t *testing.T) {
	c := NewFetchSessionCache(10, 2*time.Minute)
	id := begin(t, c, false)
	first := c.NewContext(id, 1, nil, nil, false)
	second := c.NewContext(id, 2, nil, nil, false) // the client gave up on the first
	if got, code, rs := first.Finish(results(first, 5, 0, 1)); got != id || code != kafkaerr.InvalidFetchSessionEpoch || rs != nil {
		t.Fatalf("got id %d, %v, %v", got, code, answered(rs))
	}
	if _, code := second.Throttled(); code != kafkaerr.None {
		t.Fatalf("the second is in turn: %v", code)
	}
	if _, code, _ := second.Finish(results(second, 5, 0)); code != kafkaerr.None {
		t.Fatalf("the second is in turn: %v", code)
	}
}

func TestFullFetchReplacesASession(t *testing.T) {
	c := NewFetchSessionCache(10, 2*time.Minute)
	id := begin(t, c, false)
	x := c.NewContext(id, 0, asks(0, 1), nil, false)
	fresh, _, _ := x.Finish(results(x, 5, 0))
	if fresh == id || fresh == 0 || c.Len() != 1 {
		t.Fatalf("(id,0) drops the session and makes another: %d, %d sessions", fresh, c.Len())
	}
	if c.NewContext(fresh, -1, asks(0, 1), nil, false); c.Len() != 0 {
		t.Fatal("(id,-1) closes the session")
	}
}

func TestFetchDuplicatesCountOnce(t *testing.T) {
	c := NewFetchSessionCache(10, 2*time.Minute)
	for _, n := range []int{2, 20} {
		parts := asks(1, 1)
		for i := range n {
			parts = append(parts, asks(int64(i), int32(i+2))...)
		}
		parts = append(parts, asks(9, 1)...)
		x := c.NewContext(0, -1, parts, nil, false)
		if got := x.Partitions(); len(got) != n+1 || got[0].Offset != 9 {
			t.Fatalf("the last terms at the first place: %d partitions, first from %d", len(got), got[0].Offset)
		}
	}
}

// Ref: Kafka 2.8 server/FetchSession.scala, FetchSessionCache.tryEvict.
func TestFetchSessionEviction(t *testing.T) {
	const evictAfter = 2 * time.Minute
	size := func(n int32) []FetchPartition {
		var ids []int32
		for i := range n {
			ids = append(ids, i)
		}
		return asks(0, ids...)
	}
	for _, row := range []struct {
		name            string
		residentSize    int32
		residentPrivate bool // a follower's
		age             time.Duration
		touched         bool // used again at that age
		newSize         int32
		newPrivate      bool
		want            bool // the newcomer gets in
	}{
		{"a young consumer's stays", 3, false, 0, false, 30, false, false},
		{"a young consumer's goes for a follower", 3, false, 0, false, 1, true, true},
		{"a young follower's stays, even for a follower", 3, true, 0, false, 30, true, false},
		{"unused too long: goes for anyone", 30, true, evictAfter + 1, false, 1, false, true},
		{"old but used: goes for a bigger one", 3, false, evictAfter + 1, true, 4, false, true},
		{"old but used: stays for one of its size", 3, false, evictAfter + 1, true, 3, false, false},
		{"an old follower's stays for a consumer", 3, true, evictAfter + 1, true, 30, false, false},
		{"an old follower's goes for a bigger follower's", 3, true, evictAfter + 1, true, 4, true, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := NewFetchSessionCache(1, evictAfter)
			x := c.NewContext(0, 0, size(row.residentSize), nil, row.residentPrivate)
			resident, _, _ := x.Finish(results(x, 5, 0))
			time.Sleep(row.age) // virtual
			if row.touched {
				c.NewContext(resident, 1, nil, nil, row.residentPrivate)
			}
			x = c.NewContext(0, 0, size(row.newSize), nil, row.newPrivate)
			id, _, _ := x.Finish(results(x, 5, 0))
			if got := id != NoFetchSession; got != row.want || c.Len() != 1 {
				t.Errorf("%s: got in %v, want %v; %d sessions", row.name, got, row.want, c.Len())
			}
		})
	}
}
