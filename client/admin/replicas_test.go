package admin_test

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/client/admin"
	"kz/internal/fakebroker"
	"kz/internal/kafkaerr"
)

// A fakeReplica answers about partition 0 of topic t as a follower would.
type fakeReplica struct {
	ends      []int64 // one for each time it is asked; the last one stays
	epoch     int32
	mark      int64 // high watermark
	fetchCode kafkaerr.Code
	listCode  kafkaerr.Code
	asked     int
	fetchedAt []int64
}

func (f *fakeReplica) on(c *fakebroker.Cluster) {
	c.Handle(kmsg.ListOffsets, func(_ int32, req kmsg.Request) kmsg.Response {
		r := req.(*kmsg.ListOffsetsRequest)
		resp := kmsg.NewPtrListOffsetsResponse()
		rt := kmsg.NewListOffsetsResponseTopic()
		rt.Topic = "t"
		rp := kmsg.NewListOffsetsResponseTopicPartition()
		rp.Offset, rp.LeaderEpoch, rp.ErrorCode = f.ends[min(f.asked, len(f.ends)-1)], f.epoch, int16(f.listCode)
		f.asked++
		if r.ReplicaID != -2 {
			rp.ErrorCode = int16(kafkaerr.NotLeaderOrFollower)
		}
		rt.Partitions = append(rt.Partitions, rp)
		resp.Topics = append(resp.Topics, rt)
		return resp
	})
	c.Handle(kmsg.Fetch, func(_ int32, req kmsg.Request) kmsg.Response {
		f.fetchedAt = append(f.fetchedAt, req.(*kmsg.FetchRequest).Topics[0].Partitions[0].FetchOffset)
		resp := kmsg.NewPtrFetchResponse()
		rt := kmsg.NewFetchResponseTopic()
		rt.Topic = "t"
		rp := kmsg.NewFetchResponseTopicPartition()
		rp.HighWatermark, rp.LastStableOffset, rp.LogStartOffset, rp.ErrorCode = f.mark, f.mark-1, 3, int16(f.fetchCode)
		rt.Partitions = append(rt.Partitions, rp)
		resp.Topics = append(resp.Topics, rt)
		return resp
	})
}

func TestReplicaMarks(t *testing.T) {
	for _, tt := range []struct {
		rule    string
		replica fakeReplica
		want    admin.Marks // Err apart
		err     string
		asked   int
	}{
		{"a follower shows all four marks", fakeReplica{ends: []int64{9}, epoch: 4, mark: 7}, admin.Marks{LogStart: 3, LastStable: 6, HighWatermark: 7, LogEnd: 9, Epoch: 4}, "", 2},
		{"the end is the later one: the high watermark is never above it", fakeReplica{ends: []int64{9, 12}, epoch: 4, mark: 11}, admin.Marks{LogStart: 3, LastStable: 10, HighWatermark: 11, LogEnd: 12, Epoch: 4}, "", 2},
		{"truncated in between: asked again", fakeReplica{ends: []int64{20, 8, 9}, epoch: 4, mark: 9}, admin.Marks{LogStart: 3, LastStable: 8, HighWatermark: 9, LogEnd: 9, Epoch: 4}, "", 4},
		{"no end of that: said, not guessed", fakeReplica{ends: []int64{9}, fetchCode: kafkaerr.OffsetOutOfRange}, admin.Marks{}, "its log changed", 6},
		{"a refusal is the partition's", fakeReplica{ends: []int64{9}, listCode: kafkaerr.KafkaStorageError}, admin.Marks{}, "KAFKA_STORAGE_ERROR", 2},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			bubble(t, 1, func(t *testing.T, c *fakebroker.Cluster, a *admin.Admin) {
				tt.replica.on(c)
				got, err := a.ReplicaMarks(t.Context(), 1, "t", []int32{0})
				if err != nil {
					t.Fatal(err)
				}
				m := got[0]
				text := ""
				if m.Err != nil {
					text = m.Err.Error() + kafkaerr.CodeOf(m.Err).Name()
				}
				if m.Err = nil; tt.err == "" && m != tt.want || (text == "") != (tt.err == "") || !strings.Contains(text, tt.err) || tt.replica.asked != tt.asked {
					t.Errorf("got %+v, %q after %d questions; want %+v, %q after %d", m, text, tt.replica.asked, tt.want, tt.err, tt.asked)
				}
				for i, at := range tt.replica.fetchedAt {
					if end := tt.replica.ends[min(2*i, len(tt.replica.ends)-1)]; at != end {
						t.Errorf("fetch %d is at %d, not at the log end %d: it would bring records", i, at, end)
					}
				}
			})
		})
	}
}

// Before Fetch 11 a follower answers no consumer: that is said, and nothing is made up.
func TestReplicaMarksOfAnOldBroker(t *testing.T) {
	bubble(t, 1, func(t *testing.T, c *fakebroker.Cluster, a *admin.Admin) {
		(&fakeReplica{ends: []int64{9}}).on(c)
		c.SetVersions(kmsg.Fetch, 0, 10)
		_, err := a.ReplicaMarks(t.Context(), 1, "t", []int32{0})
		if kafkaerr.CodeOf(err) != kafkaerr.UnsupportedVersion {
			t.Errorf("got %v", err)
		}
	})
}
