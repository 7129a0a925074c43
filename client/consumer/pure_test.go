package consumer

import (
	"fmt"
	"slices"
	"testing"

	"kz/client"
	"kz/internal/kafkaerr"
	"kz/internal/record"
	"kz/internal/topic"
)

var (
	p0 = topic.Partition{Topic: "t", Partition: 0}
	p1 = topic.Partition{Topic: "t", Partition: 1}
)

// Ref: Kafka 2.8 SubscriptionState.maybeCompleteValidation.
func TestVerdictOfALeader(t *testing.T) {
	for _, tt := range []struct {
		name     string
		offset   int64
		answered int32
		end      int64
		to       int64
		ok       bool
	}{
		{"it has all that we read", 10, 2, 10, 10, true},
		{"it has more", 10, 2, 15, 10, true},
		{"its log of the epoch ends before: the rest is gone", 10, 2, 7, 7, false},
		{"it knows only an older epoch, which ends before", 10, 1, 4, 4, false},
		{"no common epoch", 10, -1, -1, -1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if to, ok := verdict(tt.offset, 2, tt.answered, tt.end); to != tt.to || ok != tt.ok {
				t.Errorf("got %d, %v", to, ok)
			}
		})
	}
}

// batches makes batches of the given numbers of records, from offset 0 on, of epoch 7.
func batches(sizes ...int) (out []byte, end int64) {
	for _, n := range sizes {
		b := record.NewBuilder(record.None, 0)
		for range n {
			b.Append(1, nil, []byte("v"))
		}
		bytes := slices.Clone(b.Bytes())
		record.Batch(bytes).SetBaseOffset(end)
		record.Batch(bytes).SetLeaderEpoch(7)
		out = append(out, bytes...)
		end += int64(n)
	}
	return out, end
}

// However it is cut, the pieces hold each record once, in order, and none too many.
func TestSplit(t *testing.T) {
	bytes, end := batches(3, 1, 5)
	for from := range end {
		for limit := 1; limit <= int(end)+1; limit++ {
			t.Run(fmt.Sprint("from ", from, " by ", limit), func(t *testing.T) {
				rest := &Fetched{From: from, To: end, Bytes: bytes, checkCRC: true}
				var got []int64
				for rest != nil {
					piece, more, epoch := rest.split(limit)
					n := 0
					for r, err := range piece.Records() {
						if err != nil {
							t.Fatal(err)
						}
						got = append(got, r.Offset)
						n++
					}
					if n == 0 || n > limit || piece.To != got[len(got)-1]+1 || epoch != 7 {
						t.Fatalf("a piece of %d records to %d, epoch %d", n, piece.To, epoch)
					}
					rest = more
				}
				if len(got) != int(end-from) || got[0] != from || !slices.IsSorted(got) {
					t.Errorf("read %v", got)
				}
			})
		}
	}
}

func TestWhatIsGivenUpBeforeJoining(t *testing.T) {
	owned := []topic.Partition{{Topic: "a"}, {Topic: "b"}}
	for _, tt := range []struct {
		name              string
		lost, cooperative bool
		topics            []string
		want              int
	}{
		{"eager: everything", false, false, []string{"a", "b"}, 2},
		{"cooperative: nothing", false, true, []string{"a", "b"}, 0},
		{"cooperative: what is no longer subscribed to", false, true, []string{"a"}, 1},
		{"put out: everything, whatever the rule", true, true, []string{"a", "b"}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := leaving(owned, tt.lost, tt.cooperative, tt.topics); len(got) != tt.want {
				t.Errorf("gave up %v", got)
			}
		})
	}
}

func TestDualStorageTakesTheGreater(t *testing.T) {
	a := Offsets{p0: {At: 5, Metadata: "kafka"}, p1: {At: 1}}
	b := Offsets{p0: {At: 7}, {Topic: "u"}: {At: 2}}
	got := greater(a, b)
	if len(got) != 3 || got[p0].At != 7 || got[p1].At != 1 {
		t.Errorf("got %v", got)
	}
	if got := greater(nil, nil); got == nil || len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

// Ref: Kafka 2.8 AbstractCoordinator and ConsumerCoordinator, the response handlers.
func TestConsequences(t *testing.T) {
	for code, want := range map[kafkaerr.Code]consequence{
		kafkaerr.None: goOn, kafkaerr.NotCoordinator: lookElsewhere, kafkaerr.CoordinatorNotAvailable: lookElsewhere,
		kafkaerr.CoordinatorLoadInProgress: again, kafkaerr.RebalanceInProgress: joinAgain, kafkaerr.IllegalGeneration: startOver,
		kafkaerr.UnknownMemberID: startOver, kafkaerr.FencedInstanceID: giveUp, kafkaerr.InvalidSessionTimeout: giveUp,
		kafkaerr.InconsistentGroupProtocol: giveUp, kafkaerr.GroupAuthorizationFailed: giveUp,
	} {
		if got := consequenceOf(code); got != want {
			t.Errorf("%v: %d, want %d", code, got, want)
		}
	}
}

func TestGroupProperties(t *testing.T) {
	cfg, unknown, err := FromProperties(map[string]string{
		"bootstrap.servers": "a:1", "group.id": "g", "partition.assignment.strategy": "cooperative-sticky", "auto.offset.reset": "none",
		"session.timeout.ms": "6000", "heartbeat.interval.ms": "2000", "dual.commit.enabled": "true", "group.instance.id": "i",
	})
	if err != nil || len(unknown) > 0 {
		t.Fatal(err, unknown)
	}
	if !cfg.cooperative() || !cfg.NoReset || !cfg.AutoCommit || cfg.Storage != StoreDual || cfg.InstanceID != "i" || cfg.MaxPollRecords != 500 {
		t.Errorf("%+v", cfg)
	}
	for name, p := range map[string]map[string]string{
		"a heart too slow":       {"group.id": "g", "heartbeat.interval.ms": "10000"},
		"a rule without a name":  {"partition.assignment.strategy": "fair"},
		"commits without group":  {"enable.auto.commit": "true"},
		"a place without a name": {"offsets.storage": "disk"},
	} {
		p["bootstrap.servers"] = "a:1"
		if _, _, err := FromProperties(p); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

// A member that is given partitions knows their leaders from what it joined with: it need
// not wait for metadata, which is asked for at most every retry.backoff.ms.
func TestNewPartitionsHaveTheLeadersThatAreKnown(t *testing.T) {
	c := New(DefaultConfig(client.DefaultConfig("127.0.0.1:1")))
	defer c.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cluster = &client.Cluster{Topics: map[string]client.Topic{"t": {Name: "t", Partitions: []client.Partition{
		{Topic: "t", ID: 0, Leader: 7, LeaderEpoch: 3}, {Topic: "t", ID: 1, Leader: client.NoLeader, LeaderEpoch: 4},
	}}}}
	c.replaceLocked([]topic.Partition{p0, p1}, Committed)
	if p := c.parts[p0]; p.leader != 7 || p.leaderEpoch != 3 || p.check {
		t.Errorf("t-0: %+v", p)
	}
	if p := c.parts[p1]; p.leader != client.NoLeader {
		t.Errorf("t-1, which has no leader: %+v", p)
	}
}
