package clustertest_test

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/broker"
	"kz/broker/config"
	"kz/internal/clustertest"
	"kz/internal/kafkaerr"
	"kz/internal/link"
	"kz/internal/record"
	"kz/internal/wire"
	"kz/internal/zktest"
)

// BenchmarkReplication is the way of an acks=all batch through three brokers in one process, over
// TCP: append, two followers' fetches, the high watermark, the answer. The client costs nothing worth
// counting: it sends the same bytes again, as many at a time as Kafka's producer. So the allocations and
// the processor seconds per GB are the brokers'. Nobody listens to the journal.
func BenchmarkReplication(b *testing.B) {
	addr, leader := benchCluster(b, "bench", 1)
	for _, row := range []struct {
		name    string
		records int // of 1000 bytes
	}{
		{"one-record", 1},
		{"16kB", 16},
		{"1MB", 1000},
	} {
		b.Run(row.name, func(b *testing.B) {
			conn, err := wire.Dial(context.Background(), link.TCP{}, addr[leader], "bench")
			if err != nil {
				b.Fatal(err)
			}
			defer conn.Close()
			batch := benchBatch(row.records)
			b.SetBytes(int64(len(batch)))
			b.ReportAllocs()
			before := processSeconds(b)
			const inFlight = 5 // max.in.flight.requests.per.connection
			var calls []*wire.Call
			for b.Loop() {
				if len(calls) == inFlight {
					acknowledged(b, calls[0])
					calls = append(calls[:0], calls[1:]...)
				}
				calls = append(calls, sendBatch(b, conn, "bench", batch))
			}
			for _, call := range calls {
				acknowledged(b, call)
			}
			gigabytes := float64(b.N) * float64(len(batch)) / 1e9
			b.ReportMetric((processSeconds(b)-before)/gigabytes, "cpu-s/GB")
		})
	}
}

// benchCluster starts three brokers whose network is TCP and nothing else, makes a topic on all of
// them, and returns their addresses and who leads.
func benchCluster(b *testing.B, topic string, partitions int32) (addr map[int32]string, leader int32) {
	zk := zktest.Start(b)
	dir := b.TempDir()
	addr = map[int32]string{}
	var seeds []string
	for id := int32(1); id <= 3; id++ {
		props := quick("broker.id", strconv.Itoa(int(id)), "listeners", "PLAINTEXT://127.0.0.1:0",
			"log.dirs", filepath.Join(dir, strconv.Itoa(int(id))), "zookeeper.connect", zk.Addr)
		maps.Copy(props, map[string]string{"zookeeper.session.timeout.ms": "30000", "replica.lag.time.max.ms": "30000"})
		cfg, _, err := config.Parse(props)
		if err != nil {
			b.Fatal(err)
		}
		br := broker.New(cfg, broker.Options{Network: link.TCP{}, Log: zerolog.Nop()})
		if err := br.Start(context.Background()); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(br.Kill)
		addr[id] = fmt.Sprintf("127.0.0.1:%d", br.Endpoints()[0].Port)
		seeds = append(seeds, addr[id])
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(seeds...), kgo.MetadataMinAge(50*time.Millisecond))
	if err != nil {
		b.Fatal(err)
	}
	defer cl.Close()
	clustertest.CreateTopic(b, cl, topic, partitions, 3)
	return addr, clustertest.Leader(b, cl, topic, 0)
}

func benchBatch(records int) []byte {
	w := record.NewBuilder(record.None, 0)
	value := make([]byte, 1000)
	for range records {
		w.Append(time.Now().UnixMilli(), nil, value)
	}
	return w.Bytes()
}

func sendBatch(b *testing.B, conn *wire.Conn, topic string, batch []byte) *wire.Call {
	req := kmsg.NewPtrProduceRequest()
	req.SetVersion(7)
	req.Acks, req.TimeoutMillis = -1, 30000
	p := kmsg.NewProduceRequestTopicPartition()
	p.Records = batch
	t := kmsg.NewProduceRequestTopic()
	t.Topic, t.Partitions = topic, []kmsg.ProduceRequestTopicPartition{p}
	req.Topics = []kmsg.ProduceRequestTopic{t}
	call, err := conn.Start(req)
	if err != nil {
		b.Fatal(err)
	}
	return call
}

func acknowledged(b *testing.B, call *wire.Call) {
	resp, err := call.Wait(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	if code := kafkaerr.Code(resp.(*kmsg.ProduceResponse).Topics[0].Partitions[0].ErrorCode); code != kafkaerr.None {
		b.Fatal(code.Name())
	}
	call.Release()
}
