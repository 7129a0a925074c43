package producer

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/fakebroker"
	"kz/internal/link"
)

// BenchmarkBesideFranz is BenchmarkSend's load, sent by franz-go: the ratio of the two is
// what to look at, since the broker's share is in both.
func BenchmarkBesideFranz(b *testing.B) {
	c, err := fakebroker.New(link.TCP{}, 1)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	c.SetTopic("t", fakebroker.Topic{Leaders: []int32{1, 1, 1}})
	c.Handle(kmsg.Produce, accept)
	cl, err := kgo.NewClient(kgo.SeedBrokers(c.Addr(1)), kgo.DisableIdempotentWrite(), kgo.RequiredAcks(kgo.LeaderAck()), kgo.MaxProduceRequestsInflightPerBroker(5),
		kgo.ProducerBatchMaxBytes(64<<10), kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerLinger(0), kgo.MaxBufferedBytes(32<<20))
	if err != nil {
		b.Fatal(err)
	}
	defer cl.Close()
	value := make([]byte, 1000)
	b.SetBytes(int64(len(value)))
	b.ReportAllocs()
	for b.Loop() {
		cl.Produce(context.Background(), &kgo.Record{Topic: "t", Value: value}, nil)
	}
	if err := cl.Flush(context.Background()); err != nil {
		b.Fatal(err)
	}
}
