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
