package consumer

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/fakebroker"
	"kz/internal/kafkaerr"
	"kz/internal/record"
	"kz/internal/topic"
)

// A leader is elected out of turn and lacks the end of what we have read: we go back to
// where the logs part, or say so when nobody but the caller may decide.
// Ref: KIP-320; Kafka 2.8 Fetcher.validateOffsetsIfNeeded.
func TestNewLeaderLacksWhatWeRead(t *testing.T) {
	for _, tt := range []struct {
		name    string
		end     int64 // of epoch 0 in the new leader's log; its log ends at 8
		noReset bool
		want    []string
		err     error
	}{
		{"read again from where the logs part", 6, false, count(6, 8), nil},
		{"auto.offset.reset=none: an error", 6, true, nil, ErrTruncated},
		{"it has all of it: go on", 10, false, nil, nil},
		{"no common epoch: auto.offset.reset", -1, false, count(0, 8), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, 2, func(c *Config) { c.NoReset = tt.noReset }, func(r *rig) {
				r.spoil = func(b []byte) { record.Batch(b).SetLeaderEpoch(0) }
				r.cluster.Handle(kmsg.OffsetForLeaderEpoch, func(node int32, req kmsg.Request) kmsg.Response {
					p := req.(*kmsg.OffsetForLeaderEpochRequest).Topics[0].Partitions[0]
					if node != 2 || p.CurrentLeaderEpoch != 1 || p.LeaderEpoch != 0 {
						t.Errorf("broker %d was asked %+v", node, p)
					}
					return epochEnd(tt.end)
				})
				r.c.Assign([]topic.Partition{t0}, 0)
				if got, err := r.read(10); err != nil || !slices.Equal(got, count(0, 10)) {
					t.Fatalf("read %q, %v", got, err)
				}
				r.mu.Lock()
				r.end = max(tt.end, 8)
				r.refuse = func(node int32, _ int64) kafkaerr.Code {
					if node == 1 {
						r.cluster.SetTopic("t", fakebroker.Topic{Leaders: []int32{2}, Epochs: []int32{1}})
						return kafkaerr.NotLeaderOrFollower
					}
					return kafkaerr.None
				}
				r.mu.Unlock()
				got, err := r.read(max(len(tt.want), 1))
				if !errors.Is(err, tt.err) || !slices.Equal(got, tt.want) {
					t.Errorf("then %q, %v; want %q", got, err, tt.want)
				}
				if at, _ := r.c.Position(r.t.Context(), t0); tt.err == nil && fmt.Sprint(at) != fmt.Sprint(r.end) {
					t.Errorf("position %d", at)
				}
			})
		})
	}
}

func epochEnd(end int64) kmsg.Response {
	p := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
	p.LeaderEpoch, p.EndOffset = 0, end
	if end < 0 {
		p.LeaderEpoch = -1
	}
	rt := kmsg.NewOffsetForLeaderEpochResponseTopic()
	rt.Topic, rt.Partitions = "t", append(rt.Partitions, p)
	resp := kmsg.NewPtrOffsetForLeaderEpochResponse()
	resp.Topics = append(resp.Topics, rt)
	return resp
}
