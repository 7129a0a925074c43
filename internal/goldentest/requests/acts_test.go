package requests

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/clustertest"
	"kz/internal/record"
	"kz/internal/zk"
	"kz/zkpaths"
)

func register(t *testing.T, znodes *zk.Client, id int32, addr string) (epoch int64) {
	t.Helper()
	_, port, err := net.SplitHostPort(addr)
	must(t, err)
	data := fmt.Sprintf(`{"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"},"endpoints":["PLAINTEXT://127.0.0.1:%s"],"jmx_port":-1,"port":%s,"host":"127.0.0.1","version":4,"timestamp":"%s"}`,
		port, port, strconv.FormatInt(time.Now().UnixMilli(), 10))
	stat, err := znodes.CreateEphemeral(context.Background(), zkpaths.Broker(id), []byte(data))
	must(t, err)
	return stat.Czxid
}

func addPartition(t *testing.T, c *clustertest.Processes, topic string, total int32, replicas []int32) {
	t.Helper()
	req := kmsg.NewPtrCreatePartitionsRequest()
	rt := kmsg.NewCreatePartitionsRequestTopic()
	rt.Topic, rt.Count = topic, total
	ra := kmsg.NewCreatePartitionsRequestTopicAssignment()
	ra.Replicas = replicas
	rt.Assignment = append(rt.Assignment, ra)
	req.Topics, req.TimeoutMillis = append(req.Topics, rt), 20000
	ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
	defer cancel()
	resp, err := req.RequestWith(ctx, c.Client())
	must(t, err)
	if r := resp.Topics[0]; r.ErrorCode != 0 {
		t.Fatalf("CreatePartitions: error %d", r.ErrorCode)
	}
}

// setISR is a leader's write of its ISR.
func setISR(t *testing.T, znodes *zk.Client, topic string, p int32, isr ...int32) {
	t.Helper()
	ctx := context.Background()
	path := zkpaths.PartitionStatePath(topic, p)
	data, stat, err := znodes.Get(ctx, path)
	must(t, err)
	s, err := zkpaths.DecodePartitionState(data)
	must(t, err)
	s.ISR = isr
	_, err = znodes.Set(ctx, path, s.Encode(), stat.Version)
	must(t, err)
}

// produce sends records to a partition's leader, with acks=1.
func produce(t *testing.T, leader *clustertest.Node, topic string, p int32, n int) {
	t.Helper()
	var values []string
	for i := range n {
		values = append(values, fmt.Sprintf("record-%d", i))
	}
	clustertest.Eventually(t, 90*time.Second, fmt.Sprintf("the leader of %s-%d to take records", topic, p), func() (bool, string) {
		acked, codes, err := clustertest.Produce(leader.Addr, topic, p, 1, 90*time.Second, values)
		if err != nil {
			return false, err.Error()
		}
		return len(acked) == n, fmt.Sprint(codes)
	})
}

// follow fetches as replica 9 does that has nothing yet, up to the end of the leader's log, which has
// that many records.
func follow(t *testing.T, cl *kgo.Client, leader int32, topic string, p int32, end int64) {
	t.Helper()
	next, id := int64(0), int32(9)
	clustertest.Eventually(t, 90*time.Second, fmt.Sprintf("replica %d to reach the end of %s-%d", id, topic, p), func() (bool, string) {
		req := kmsg.NewPtrFetchRequest()
		req.Version, req.ReplicaID, req.MinBytes, req.MaxBytes, req.SessionEpoch = 11, id, 0, 1<<20, -1
		fp := kmsg.NewFetchRequestTopicPartition()
		fp.Partition, fp.FetchOffset, fp.CurrentLeaderEpoch, fp.PartitionMaxBytes = p, next, -1, 1<<20
		req.Topics = []kmsg.FetchRequestTopic{{Topic: topic, Partitions: []kmsg.FetchRequestTopicPartition{fp}}}
		ctx, cancel := context.WithTimeout(context.Background(), 90*time.Second)
		defer cancel()
		resp, err := cl.Broker(int(leader)).Request(ctx, req)
		if err != nil {
			return false, err.Error()
		}
		got := resp.(*kmsg.FetchResponse).Topics[0].Partitions[0]
		if got.ErrorCode != 0 || len(got.RecordBatches) == 0 {
			return got.ErrorCode == 0 && next == end, fmt.Sprintf("error %d, offset %d", got.ErrorCode, next)
		}
		for b, err := range record.Batches(got.RecordBatches) {
			if err != nil {
				return false, err.Error()
			}
			next = b.LastOffset() + 1
		}
		return false, fmt.Sprint(next)
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
