package group

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// A crowd, each on a goroutine of its own as clients are: they join, sync, beat, commit and
// leave, while leadership flaps. Everybody gets through, and no acknowledged offset is lost.
// It is for the race detector above all.
func TestCrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, newLogs(), func(c *Config) { c.InitialRebalanceDelay = 100 * time.Millisecond })
		b.lead(0)
		stop := make(chan struct{})
		var flapping sync.WaitGroup
		flapping.Go(func() { // it moves away and back, every second
			for {
				select {
				case <-stop:
					return
				case <-time.After(time.Second):
					b.OnLeadershipChange(nil, offsetsTopic(0))
					b.OnLeadershipChange(offsetsTopic(0), nil)
				}
			}
		})
		var crowd sync.WaitGroup
		for i := range 24 {
			crowd.Go(func() {
				m := &visitor{b: b, group: fmt.Sprint("g", i%3), name: fmt.Sprint("v", i), p: topic.Partition{Topic: "t", Partition: int32(i)}}
				for range 5 {
					m.visit()
				}
			})
		}
		crowd.Wait()
		close(stop)
		flapping.Wait()
		synctest.Wait()
		for i := range 24 {
			p := topic.Partition{Topic: "t", Partition: int32(i)}
			found, code := b.FetchOffsets(fmt.Sprint("g", i%3), false, []topic.Partition{p})
			if code != kafkaerr.None || found[p].Offset != 5 {
				t.Errorf("visitor %d: %+v, %s", i, found[p], code.Name())
			}
		}
		b.Stop()
	})
}

// visitor is a client that comes again and again.
type visitor struct {
	b               *bench
	group, name, id string
	generation      int32
	p               topic.Partition
	offset          int64 // the last one acknowledged
}

// visit joins, commits one more offset, and leaves.
func (v *visitor) visit() {
	want := v.offset + 1
	for v.offset < want {
		if v.join() && v.sync() && v.beat() {
			v.commit(want)
		}
	}
	for {
		code, _ := v.b.Leave(v.group, []Leaving{{MemberID: v.id}})
		if code == kafkaerr.None {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	v.id = ""
}

func (v *visitor) join() bool {
	answer := make(chan JoinResult, 1)
	v.b.Join(JoinRequest{Group: v.group, MemberID: v.id, ClientID: v.name, ClientHost: "/h", RequireKnownID: true, RebalanceTimeoutMs: 5000, SessionTimeoutMs: 6000,
		ProtocolType: consumerType, Protocols: []Protocol{{"range", subscriptionOf("t")}}}, func(r JoinResult) { answer <- r })
	r := <-answer
	v.generation = r.Generation
	switch r.Code {
	case kafkaerr.None, kafkaerr.MemberIDRequired:
		v.id = r.MemberID
	case kafkaerr.UnknownMemberID:
		v.id = ""
	default:
		time.Sleep(50 * time.Millisecond)
	}
	return r.Code == kafkaerr.None
}

func (v *visitor) sync() bool {
	answer := make(chan SyncResult, 1)
	v.b.Sync(SyncRequest{Caller: v.caller(), Assignment: map[string][]byte{v.id: []byte("x")}}, func(r SyncResult) { answer <- r })
	return (<-answer).Code == kafkaerr.None
}

func (v *visitor) beat() bool {
	time.Sleep(20 * time.Millisecond)
	return v.b.Heartbeat(v.caller()) == kafkaerr.None
}

func (v *visitor) commit(offset int64) {
	answer := make(chan kafkaerr.Code, 1)
	v.b.CommitOffsets(Commit{Caller: v.caller(), Offsets: map[topic.Partition]OffsetAndMetadata{v.p: {Offset: offset, LeaderEpoch: -1, CommitTimestamp: nowMs(), ExpireTimestamp: -1}}},
		func(codes map[topic.Partition]kafkaerr.Code) { answer <- codes[v.p] })
	if <-answer == kafkaerr.None {
		v.offset = offset
	}
}

func (v *visitor) caller() Caller {
	return Caller{Group: v.group, MemberID: v.id, Generation: v.generation}
}
