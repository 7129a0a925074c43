package clustertest

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/kafkaerr"
	"kz/internal/link"
	"kz/internal/record"
	"kz/internal/wire"
)

// produceRequest is one Produce v7 request of one record to one partition.
func produceRequest(topic string, partition int32, acks int16, value string) *kmsg.ProduceRequest {
	b := record.NewBuilder(record.None, 0)
	b.Append(time.Now().UnixMilli(), nil, []byte(value))
	req := kmsg.NewPtrProduceRequest()
	req.SetVersion(7)
	req.Acks, req.TimeoutMillis = acks, 10000
	rt := kmsg.NewProduceRequestTopic()
	rt.Topic = topic
	rp := kmsg.NewProduceRequestTopicPartition()
	rp.Partition, rp.Records = partition, b.Bytes()
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	return req
}

// Produce sends each value in a request of its own to one broker, which it takes for the leader, and
// returns what was acknowledged at which offset, and how often each error came. With acks=0 nothing
// is ever acknowledged; nothing acknowledged is then no refusal.
func Produce(addr, topic string, partition int32, acks int16, timeout time.Duration, values []string) ([]Ack, map[kafkaerr.Code]int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 120*time.Second)
	defer cancel()
	conn, err := wire.Dial(ctx, link.TCP{}, addr, "table")
	if err != nil {
		return nil, nil, err
	}
	defer conn.Close()
	var acked []Ack
	codes := map[kafkaerr.Code]int{}
	for _, v := range values {
		req := produceRequest(topic, partition, acks, v)
		req.TimeoutMillis = int32(timeout.Milliseconds())
		if acks == 0 {
			if err := conn.SendOnly(req); err != nil {
				return nil, nil, err
			}
			continue
		}
		resp, err := conn.Do(ctx, req)
		if err != nil {
			return nil, nil, err
		}
		p := resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0]
		if code := kafkaerr.Code(p.ErrorCode); code != kafkaerr.None {
			codes[code]++
			continue
		}
		acked = append(acked, Ack{v, p.BaseOffset, time.Now()})
	}
	return acked, codes, nil
}

// Unacknowledged puts n acks=1 produce requests into a broker's sockets without waiting for answers;
// the function it returns waits for them and says how many were accepted.
func (c *Processes) Unacknowledged(n *Node, topic string, partition int32, count int) (accepted func() int) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	var calls []*wire.Call
	for i := range count {
		conn, err := wire.Dial(ctx, link.TCP{}, n.Addr, "stale")
		if err != nil {
			c.t.Fatal(err)
		}
		c.t.Cleanup(func() { _ = conn.Close() })
		call, err := conn.Start(produceRequest(topic, partition, 1, fmt.Sprintf("stale-%d", i)))
		if err != nil {
			c.t.Fatal(err)
		}
		calls = append(calls, call)
	}
	return func() int {
		defer cancel()
		ok := 0
		for _, call := range calls {
			resp, err := call.Wait(ctx)
			if err != nil {
				continue
			}
			p := resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0]
			if kafkaerr.Code(p.ErrorCode) == kafkaerr.None {
				ok++
			}
		}
		return ok
	}
}

// Knows asks the broker itself for metadata: whether it has a leader for each partition of a topic. Only
// then does it take records for it: a broker may hear that it leads before it hears of the topic.
func (m *Member) Knows(topic string, partitions int32) (bool, string) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	conn, err := wire.Dial(ctx, m.cluster.Ground.Network, m.Addr, "metadata")
	if err != nil {
		return false, err.Error()
	}
	defer conn.Close()
	req := kmsg.NewPtrMetadataRequest()
	req.SetVersion(7)
	rt := kmsg.NewMetadataRequestTopic()
	rt.Topic = kmsg.StringPtr(topic)
	req.Topics = append(req.Topics, rt)
	resp, err := conn.Do(ctx, req)
	if err != nil {
		return false, err.Error()
	}
	t := resp.(*kmsg.MetadataResponse).Topics[0]
	if t.ErrorCode != 0 || len(t.Partitions) != int(partitions) {
		return false, fmt.Sprintf("%s, %d of %d partitions", kafkaerr.Code(t.ErrorCode).Name(), len(t.Partitions), partitions)
	}
	for _, p := range t.Partitions {
		if p.ErrorCode != 0 || p.Leader < 0 {
			return false, fmt.Sprintf("partition %d: %s, leader %d", p.Partition, kafkaerr.Code(p.ErrorCode).Name(), p.Leader)
		}
	}
	return true, ""
}
