//go:build unix

package consumer

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/client/assignor"
	"kz/internal/clustertest"
	"kz/internal/fakebroker"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// groupOf makes broker 1 a coordinator that lets everybody in, as the only member and leader, and has an
// offset for it (-1: none). What it answers may be spoiled before it goes out; it may also be nil (silence) or fakebroker.Close.
func (r *rig) groupOf(committed int64, spoil func(key kmsg.Key, resp kmsg.Response) kmsg.Response) {
	var mu sync.Mutex
	count := map[kmsg.Key]int{}
	handle := func(key kmsg.Key, h fakebroker.Handler) {
		r.cluster.Handle(key, func(node int32, req kmsg.Request) kmsg.Response {
			mu.Lock()
			count[key]++
			n := count[key]
			mu.Unlock()
			if n == 5000 {
				r.t.Errorf("%s was asked 5000 times", kmsg.NameForKey(int16(key)))
			}
			if n >= 5000 {
				<-time.After(time.Minute) // so that the bubble's clock goes on
			}
			return spoil(key, h(node, req))
		})
	}
	handle(kmsg.FindCoordinator, func(int32, kmsg.Request) kmsg.Response {
		resp := kmsg.NewPtrFindCoordinatorResponse()
		resp.NodeID = 1
		return resp
	})
	handle(kmsg.JoinGroup, func(_ int32, req kmsg.Request) kmsg.Response {
		q := req.(*kmsg.JoinGroupRequest)
		resp := kmsg.NewPtrJoinGroupResponse()
		resp.Generation, resp.MemberID, resp.LeaderID, resp.Protocol = 1, "m", "m", &q.Protocols[0].Name
		m := kmsg.NewJoinGroupResponseMember()
		m.MemberID, m.ProtocolMetadata = "m", q.Protocols[0].Metadata
		resp.Members = append(resp.Members, m)
		return resp
	})
	handle(kmsg.SyncGroup, func(int32, kmsg.Request) kmsg.Response {
		resp := kmsg.NewPtrSyncGroupResponse()
		resp.MemberAssignment = assignor.EncodeAssignment([]topic.Partition{t0})
		return resp
	})
	handle(kmsg.Heartbeat, func(int32, kmsg.Request) kmsg.Response { return kmsg.NewPtrHeartbeatResponse() })
	handle(kmsg.LeaveGroup, func(int32, kmsg.Request) kmsg.Response { return kmsg.NewPtrLeaveGroupResponse() })
	handle(kmsg.OffsetCommit, func(_ int32, req kmsg.Request) kmsg.Response {
		resp := kmsg.NewPtrOffsetCommitResponse()
		for _, t := range req.(*kmsg.OffsetCommitRequest).Topics {
			rt := kmsg.NewOffsetCommitResponseTopic()
			rt.Topic = t.Topic
			for _, p := range t.Partitions {
				rp := kmsg.NewOffsetCommitResponseTopicPartition()
				rp.Partition = p.Partition
				rt.Partitions = append(rt.Partitions, rp)
			}
			resp.Topics = append(resp.Topics, rt)
		}
		return resp
	})
	handle(kmsg.OffsetFetch, func(_ int32, req kmsg.Request) kmsg.Response {
		resp := kmsg.NewPtrOffsetFetchResponse()
		for _, t := range req.(*kmsg.OffsetFetchRequest).Topics {
			rt := kmsg.NewOffsetFetchResponseTopic()
			rt.Topic = t.Topic
			for _, p := range t.Partitions {
				rp := kmsg.NewOffsetFetchResponseTopicPartition()
				if rp.Partition, rp.Offset = p, committed; committed >= 0 {
					rp.LeaderEpoch = 0 // to be compared with the leader's
				}
				rt.Partitions = append(rt.Partitions, rp)
			}
			resp.Topics = append(resp.Topics, rt)
		}
		return resp
	})
	handle(kmsg.OffsetForLeaderEpoch, func(_ int32, req kmsg.Request) kmsg.Response {
		resp := kmsg.NewPtrOffsetForLeaderEpochResponse()
		for _, t := range req.(*kmsg.OffsetForLeaderEpochRequest).Topics {
			rt := kmsg.NewOffsetForLeaderEpochResponseTopic()
			rt.Topic = t.Topic
			for _, p := range t.Partitions {
				rp := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
				rp.Partition, rp.LeaderEpoch, rp.EndOffset = p.Partition, 0, r.end
				rt.Partitions = append(rt.Partitions, rp)
			}
			resp.Topics = append(resp.Topics, rt)
		}
		return resp
	})
	handle(kmsg.Fetch, r.fetch)
	handle(kmsg.ListOffsets, r.listOffsets)
}

// groupKeys are the requests of a member's life.
var groupKeys = []kmsg.Key{kmsg.FindCoordinator, kmsg.JoinGroup, kmsg.SyncGroup, kmsg.Heartbeat, kmsg.LeaveGroup, kmsg.OffsetCommit, kmsg.OffsetFetch, kmsg.OffsetForLeaderEpoch, kmsg.Fetch, kmsg.ListOffsets}

// setCode writes code wherever an answer has an ErrorCode.
func setCode(v reflect.Value, code kafkaerr.Code) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			setCode(v.Elem(), code)
		}
	case reflect.Slice:
		for i := range v.Len() {
			setCode(v.Index(i), code)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); v.Type().Field(i).Name == "ErrorCode" {
				f.SetInt(int64(code))
			} else if f.CanSet() {
				setCode(f, code)
			}
		}
	}
}

// Every error code to every request, and worse: an answer that never comes, a connection that is closed,
// an answer without anything in it. The consumer goes on or says so, asks no more often than it should,
// commits and closes in time; when the trouble is over and was not fatal, it reads.
func TestEveryWrongAnswer(t *testing.T) {
	type trouble struct {
		name  string
		spoil func(kmsg.Response) kmsg.Response
	}
	all := []trouble{
		{"silence", func(kmsg.Response) kmsg.Response { return nil }},
		{"closed", func(kmsg.Response) kmsg.Response { return fakebroker.Close }},
		{"empty", func(r kmsg.Response) kmsg.Response {
			return reflect.New(reflect.TypeOf(r).Elem()).Interface().(kmsg.Response)
		}},
	}
	for code := kafkaerr.Code(-1); code < 100; code++ {
		if code != kafkaerr.None && (!clustertest.RaceDetector || code%8 == 0) { // with it, each takes ten times as long
			all = append(all, trouble{fmt.Sprint(int(code), " ", code.Name()), func(r kmsg.Response) kmsg.Response { setCode(reflect.ValueOf(r), code); return r }})
		}
	}
	for _, key := range groupKeys {
		for _, tr := range all {
			t.Run(kmsg.NameForKey(int16(key))+"/"+tr.name, func(t *testing.T) {
				configure := func(c *Config) { c.Group = "g" }
				bubble(t, 1, configure, func(r *rig) {
					var mu sync.Mutex
					over := false
					committed := int64(2)
					if key == kmsg.ListOffsets {
						committed = -1 // so that it is asked
					}
					r.groupOf(committed, func(k kmsg.Key, resp kmsg.Response) kmsg.Response {
						mu.Lock()
						defer mu.Unlock()
						if k == key && !over {
							return tr.spoil(resp)
						}
						return resp
					})
					if err := r.c.Subscribe([]string{"t"}, Listener{}); err != nil {
						r.t.Fatal(err)
					}
					begin := time.Now()
					var fatal error
					got := 0
					for fatal == nil && time.Since(begin) < 20*time.Second {
						var fetched []Fetched
						fetched, fatal = pollFor(r.c, time.Second)
						got += len(fetched)
						for i := range fetched {
							fetched[i].Release()
						}
					}
					ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
					if err := r.c.CommitOffsets(ctx, Offsets{t0: {At: 2, LeaderEpoch: -1}}); err == nil && key == kmsg.OffsetCommit {
						r.t.Error("a commit that was not kept is no error")
					}
					cancel()
					mu.Lock()
					over = true
					mu.Unlock()
					nothingIsOurs := key == kmsg.SyncGroup && tr.name == "empty" // which is a rightful answer
					for deadline := time.Now().Add(5 * time.Minute); fatal == nil && got == 0 && !nothingIsOurs; {
						var fetched []Fetched
						fetched, fatal = pollFor(r.c, time.Second)
						got += len(fetched)
						if time.Now().After(deadline) {
							r.t.Fatal("nothing is read, and nobody says why")
						}
					}
					begin = time.Now()
					_ = r.c.Close()
					if took := time.Since(begin); took > closeTimeout+time.Second {
						r.t.Errorf("Close took %v", took)
					}
				})
			})
		}
	}
}
