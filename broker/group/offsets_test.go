package group

import (
	"slices"
	"strings"
	"testing"
	"time"

	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

const day = 24 * time.Hour

func anybody(group string) Caller { return Caller{Group: group, Generation: -1} }

func TestCommitAndFetch(t *testing.T) {
	inBubble(t, func(b *bench) {
		c := b.commit(anybody("s"), 42)
		if code := c.answer()[t0]; code != kafkaerr.None {
			t.Fatal(code.Name())
		}
		if got := b.fetched("s"); got != 42 {
			t.Errorf("fetched %d", got)
		}
		if got := b.fetched("nobody"); got != -1 {
			t.Errorf("fetched %d of a group that is not there", got)
		}
		all, _ := b.FetchOffsets("s", false, nil)
		if len(all) != 1 {
			t.Errorf("all of them: %v", all)
		}
	})
}

// Nothing is told before the replicas have it; who asks for stable offsets is put off.
func TestCommitWaitsForReplicas(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.commit(anybody("s"), 1).answer()
		b.logs.hold = true
		c := b.commit(anybody("s"), 2)
		c.mustWait()
		if got := b.fetched("s"); got != 1 {
			t.Errorf("fetched %d", got)
		}
		found, _ := b.FetchOffsets("s", true, []topic.Partition{t0})
		if found[t0].Code != kafkaerr.UnstableOffsetCommit {
			t.Errorf("%+v", found)
		}
		b.logs.replicate()
		c.answer()
		if got := b.fetched("s"); got != 2 {
			t.Errorf("fetched %d", got)
		}
	})
}

// Two commits under way, answered in the other order: the later record counts, as it will
// after a load.
func TestLaterRecordWins(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.logs.hold = true
		b.commit(anybody("s"), 1).mustWait()
		b.commit(anybody("s"), 2).mustWait()
		slices.Reverse(b.logs.held)
		b.logs.replicate()
		if got := b.fetched("s"); got != 2 {
			t.Errorf("fetched %d", got)
		}
		b.follow(0)
		b.lead(0)
		if got := b.fetched("s"); got != 2 {
			t.Errorf("loaded %d", got)
		}
	})
}

// Ref: Kafka 2.8 GroupMetadataManager.storeOffsets
func TestFailedCommit(t *testing.T) {
	for log, want := range map[kafkaerr.Code]kafkaerr.Code{
		kafkaerr.UnknownTopicOrPartition:      kafkaerr.CoordinatorNotAvailable,
		kafkaerr.NotEnoughReplicas:            kafkaerr.CoordinatorNotAvailable,
		kafkaerr.NotEnoughReplicasAfterAppend: kafkaerr.CoordinatorNotAvailable,
		kafkaerr.NotLeaderOrFollower:          kafkaerr.NotCoordinator,
		kafkaerr.KafkaStorageError:            kafkaerr.NotCoordinator,
		kafkaerr.MessageTooLarge:              kafkaerr.InvalidCommitOffsetSize,
		kafkaerr.RecordListTooLarge:           kafkaerr.InvalidCommitOffsetSize,
		kafkaerr.InvalidFetchSize:             kafkaerr.InvalidCommitOffsetSize,
		kafkaerr.RequestTimedOut:              kafkaerr.RequestTimedOut,
	} {
		inBubble(t, func(b *bench) {
			b.commit(anybody("s"), 1).answer()
			b.logs.code = log
			if got := b.commit(anybody("s"), 2).answer()[t0]; got != want {
				t.Errorf("%s becomes %s, want %s", log.Name(), got.Name(), want.Name())
			}
			found, _ := b.FetchOffsets("s", true, []topic.Partition{t0})
			if found[t0].Code != kafkaerr.None || found[t0].Offset != 1 {
				t.Errorf("after %s: %+v", log.Name(), found)
			}
		})
	}
}

// The limit counts UTF-16 units; one offset too many does not spoil the others.
func TestMetadataSize(t *testing.T) {
	inBubble(t, func(b *bench) {
		o := func(text string) OffsetAndMetadata {
			return OffsetAndMetadata{Offset: 1, LeaderEpoch: -1, Metadata: text, ExpireTimestamp: -1}
		}
		p := func(n int32) topic.Partition { return topic.Partition{Topic: "t", Partition: n} }
		c := &call[map[topic.Partition]kafkaerr.Code]{t: t}
		b.CommitOffsets(Commit{Caller: anybody("s"), Offsets: map[topic.Partition]OffsetAndMetadata{
			p(0): o(strings.Repeat("x", 4096)), p(1): o(strings.Repeat("x", 4097)),
			p(2): o(strings.Repeat("𝄞", 2048)), p(3): o(strings.Repeat("𝄞", 2048) + "x")}}, c.respond)
		for n, want := range []kafkaerr.Code{0, kafkaerr.OffsetMetadataTooLarge, 0, kafkaerr.OffsetMetadataTooLarge} {
			if got := c.answer()[p(int32(n))]; got != want {
				t.Errorf("%d: %s, want %s", n, got.Name(), want.Name())
			}
		}
		if found, _ := b.FetchOffsets("s", true, nil); len(found) != 2 {
			t.Errorf("stored %v", found)
		}
	})
}

// Ref: Kafka 2.8 GroupMetadata.removeExpiredOffsets
func TestExpiry(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.commit(anybody("simple"), 1).answer()
		c := &call[map[topic.Partition]kafkaerr.Code]{t: t}
		b.CommitOffsets(Commit{Caller: anybody("own"), Offsets: map[topic.Partition]OffsetAndMetadata{
			t0: {Offset: 1, LeaderEpoch: -1, CommitTimestamp: nowMs(), ExpireTimestamp: nowMs() + 3600_000}}}, c.respond)
		c.answer()
		a := &person{name: "a"}
		b.settled(a)
		other := topic.Partition{Topic: "unread"}
		b.CommitOffsets(Commit{Caller: a.caller(), Offsets: map[topic.Partition]OffsetAndMetadata{
			t0:    {Offset: 1, LeaderEpoch: -1, CommitTimestamp: nowMs(), ExpireTimestamp: -1},
			other: {Offset: 1, LeaderEpoch: -1, CommitTimestamp: nowMs(), ExpireTimestamp: -1}}}, (&call[map[topic.Partition]kafkaerr.Code]{t: t}).respond)

		b.keepAlive(2*time.Hour, a)
		if got := b.fetched("own"); got != -1 {
			t.Errorf("an offset with an hour of its own is still %d", got)
		}
		if got := b.fetched("simple"); got != 1 {
			t.Errorf("a simple group's offset is %d already", got)
		}
		b.keepAlive(7*day, a)
		if got := b.fetched("simple"); got != -1 {
			t.Errorf("a simple group's offset is still %d", got)
		}
		found, _ := b.FetchOffsets("g", false, nil)
		if _, kept := found[t0]; !kept || len(found) != 1 {
			t.Errorf("of a live group: %v: what it reads stays, what it does not read goes", found)
		}
		b.Leave("g", []Leaving{{MemberID: a.id}})
		pass(7*day - time.Hour)
		if got := b.fetched("g"); got != 1 {
			t.Errorf("an hour too early: %d", got)
		}
		pass(2 * time.Hour)
		if got := b.Describe("g").State; got != "Dead" || b.fetched("g") != -1 {
			t.Errorf("the group is %s", got)
		}
		got := b.logs.written(t, 0)
		want := []string{"simple t-0: 1", "own t-0: 1", "group g: generation 1, 1 members", "g t-0: 1", "g unread-0: 1", "own t-0: gone",
			"simple t-0: gone", "g unread-0: gone", "group g: generation 2, 0 members", "g t-0: gone", "group g: gone"}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("written:\n%q, want\n%q", got, want)
		}
		if len(b.all()) != 0 {
			t.Errorf("%d groups are left", len(b.all()))
		}
	})
}

func TestTopicsDeleted(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.commit(anybody("s"), 1).answer()
		b.TopicsDeleted([]topic.Partition{{Topic: "t", Partition: 1}})
		if got := b.fetched("s"); got != 1 {
			t.Errorf("another partition's deletion made it %d", got)
		}
		b.logs.hold = true
		c := b.commit(anybody("s"), 2)
		c.mustWait()
		b.TopicsDeleted([]topic.Partition{t0})
		b.logs.replicate()
		c.answer()
		if got := b.fetched("s"); got != -1 {
			t.Errorf("the commit under way brought %d back", got)
		}
		if got := b.logs.written(t, 0); got[len(got)-1] != "s t-0: gone" {
			t.Errorf("written: %q", got)
		}
	})
}

func TestDeleteOffsets(t *testing.T) {
	inBubble(t, func(b *bench) {
		a := &person{name: "a"}
		b.settled(a)
		other := topic.Partition{Topic: "unread"}
		for _, p := range []topic.Partition{t0, other} {
			c := &call[map[topic.Partition]kafkaerr.Code]{t: t}
			b.CommitOffsets(Commit{Caller: a.caller(), Offsets: map[topic.Partition]OffsetAndMetadata{p: {Offset: 1, LeaderEpoch: -1, ExpireTimestamp: -1}}}, c.respond)
			c.answer()
		}
		codes, code := b.DeleteOffsets("g", []topic.Partition{t0, other})
		if code != kafkaerr.None || codes[t0] != kafkaerr.GroupSubscribedToTopic || codes[other] != kafkaerr.None {
			t.Errorf("%v %v", codes, code)
		}
		if found, _ := b.FetchOffsets("g", false, nil); len(found) != 1 {
			t.Errorf("left: %v", found)
		}
	})
}

// A group that is deleted and made anew: the tombstone lies before the new records.
func TestDeletedGroupComesBack(t *testing.T) {
	inBubble(t, func(b *bench) {
		a := &person{name: "a"}
		b.settled(a)
		b.Leave("g", []Leaving{{MemberID: a.id}})
		b.commit(anybody("g"), 5).answer()
		if got := b.DeleteGroups([]string{"g"})["g"]; got != kafkaerr.None {
			t.Fatal(got.Name())
		}
		if got := b.DeleteGroups([]string{"g"})["g"]; got != kafkaerr.GroupIDNotFound {
			t.Errorf("again: %s", got.Name())
		}
		b.commit(anybody("g"), 6).answer()
		b.follow(0)
		b.lead(0)
		if got := b.fetched("g"); got != 6 {
			t.Errorf("loaded %d", got)
		}
		want := []string{"g t-0: gone", "group g: gone", "g t-0: 6"}
		if got := b.logs.written(t, 0); !slices.Equal(got[len(got)-3:], want) {
			t.Errorf("written: %q", got)
		}
	})
}
