package producer

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/client"
	"kz/internal/fakebroker"
	"kz/internal/kafkaerr"
	"kz/internal/link"
	"kz/internal/record"
)

// BenchmarkSend is the client's side of producer-perf-test: records of 1 kB over
// loopback to a broker that throws them away. The broker's share (reading, decoding)
// is in the figure, too.
func BenchmarkSend(b *testing.B) {
	for name, codec := range map[string]record.Codec{"none": record.None, "lz4": record.LZ4} {
		b.Run(name, func(b *testing.B) {
			c, err := fakebroker.New(link.TCP{}, 1)
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			c.SetTopic("t", fakebroker.Topic{Leaders: []int32{1, 1, 1}})
			c.Handle(kmsg.Produce, accept)
			cfg := DefaultConfig(client.DefaultConfig(c.Addr(1)))
			cfg.BatchSize, cfg.Compression = 64<<10, codec
			p := New(cfg)
			value := make([]byte, 1000)
			for i := range value {
				value[i] = byte('A' + i*7919%26)
			}
			b.SetBytes(int64(len(value)))
			b.ReportAllocs()
			for b.Loop() {
				if err := p.Send(b.Context(), Record{Topic: "t", Partition: AnyPartition, Value: value}, nil); err != nil {
					b.Fatal(err)
				}
			}
			if err := p.Close(b.Context()); err != nil {
				b.Fatal(err)
			}
		})
	}
}

func accept(_ int32, req kmsg.Request) kmsg.Response {
	resp := kmsg.NewPtrProduceResponse()
	for _, t := range req.(*kmsg.ProduceRequest).Topics {
		rt := kmsg.NewProduceResponseTopic()
		rt.Topic = t.Topic
		for _, p := range t.Partitions {
			rp := kmsg.NewProduceResponseTopicPartition()
			rp.Partition, rp.ErrorCode = p.Partition, int16(kafkaerr.None)
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}
