package producer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"kz/internal/kafkaerr"
)

func TestFutureAndSync(t *testing.T) {
	bubble(t, 1, []int32{1}, nil, func(r *rig) {
		ctx := context.Background()
		var futures []*Future
		for i := range 5 {
			f, err := r.p.SendFuture(ctx, Record{Topic: "t", Value: []byte(fmt.Sprint(i))})
			if err != nil {
				t.Fatal(err)
			}
			futures = append(futures, f)
		}
		for i, f := range futures {
			if m, err := f.Wait(ctx); err != nil || m.Offset != int64(i) {
				t.Errorf("future %d: %+v, %v", i, m, err)
			}
		}
		if m, err := r.p.SendSync(ctx, Record{Topic: "t", Value: []byte("x")}); err != nil || m.Offset != 5 {
			t.Errorf("sync: %+v, %v", m, err)
		}
		r.mu.Lock()
		r.refuse = func(int32, string, []string) kafkaerr.Code { return kafkaerr.TopicAuthorizationFailed }
		r.mu.Unlock()
		if _, err := r.p.SendSync(ctx, Record{Topic: "t", Value: []byte("x")}); !errors.Is(err, kafkaerr.TopicAuthorizationFailed) {
			t.Errorf("refused: %v", err)
		}
	})
}

func TestFutureMayBeGivenUp(t *testing.T) {
	bubble(t, 1, []int32{1}, nil, func(r *rig) {
		r.silent = func(int32) bool { return true }
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if _, err := r.p.SendSync(ctx, Record{Topic: "t", Value: []byte("x")}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		r.mu.Lock()
		r.silent = nil
		r.mu.Unlock()
	})
}

// Ref: Kafka 2.8 RoundRobinPartitioner, UniformStickyPartitioner, KafkaProducer.partition.
func TestPartitioners(t *testing.T) {
	keyed := func(r *rig, n int) (counts []int) {
		for range n {
			if err := r.p.Send(context.Background(), Record{Topic: "t", Partition: AnyPartition, Key: []byte("k"), Value: []byte("v")}, nil); err != nil {
				t.Fatal(err)
			}
		}
		r.flush()
		r.mu.Lock()
		defer r.mu.Unlock()
		for p := range 3 {
			counts = append(counts, len(r.stored[fmt.Sprint("t-", p)]))
		}
		return counts
	}
	t.Run("by default one key goes to one partition", func(t *testing.T) {
		bubble(t, 1, []int32{1, 1, 1}, nil, func(r *rig) {
			want := []int{0, 0, 0}
			want[forKey([]byte("k"), 3)] = 9
			if got := keyed(r, 9); !slices.Equal(got, want) {
				t.Errorf("got %v", got)
			}
		})
	})
	t.Run("round robin deals, whatever the key, over those with a leader", func(t *testing.T) {
		bubble(t, 1, []int32{1, -1, 1}, func(c *Config) { c.Partitioner = RoundRobin() }, func(r *rig) {
			if got := keyed(r, 10); !slices.Equal(got, []int{5, 0, 5}) {
				t.Errorf("got %v", got)
			}
		})
	})
	t.Run("uniform sticky: a new partition for each batch, whatever the key", func(t *testing.T) {
		bubble(t, 1, []int32{1, 1, 1}, func(c *Config) { c.IgnoreKeys, c.BatchSize, c.Linger = true, 100, time.Second }, func(r *rig) {
			if got := keyed(r, 100); slices.Max(got) == 100 || got[0]+got[1]+got[2] != 100 {
				t.Errorf("got %v", got)
			}
		})
	})
	t.Run("a custom one decides by anything", func(t *testing.T) {
		bubble(t, 1, []int32{1, 1, 1}, func(c *Config) { c.Partitioner = func(r *Record, all int, _ []int32) int32 { return int32(all - 1) } }, func(r *rig) {
			if got := keyed(r, 4); !slices.Equal(got, []int{0, 0, 4}) {
				t.Errorf("got %v", got)
			}
		})
	})
	t.Run("a custom one that is mistaken makes Send fail", func(t *testing.T) {
		bubble(t, 1, []int32{1, 1, 1}, func(c *Config) { c.Partitioner = func(*Record, int, []int32) int32 { return 3 } }, func(r *rig) {
			err := r.p.Send(context.Background(), Record{Topic: "t", Partition: AnyPartition, Value: []byte("v")}, nil)
			if !errors.Is(err, kafkaerr.UnknownTopicOrPartition) {
				t.Errorf("got %v", err)
			}
		})
	})
}

func TestPartitionerClass(t *testing.T) {
	for class, ok := range map[string]bool{
		"org.apache.kafka.clients.producer.internals.DefaultPartitioner": true, "org.apache.kafka.clients.producer.RoundRobinPartitioner": true,
		"org.apache.kafka.clients.producer.UniformStickyPartitioner": true, "com.example.Mine": false, "": false,
	} {
		cfg, _, err := FromProperties(map[string]string{"bootstrap.servers": "a:1", "partitioner.class": class})
		if (err == nil) != ok {
			t.Errorf("%q: %v", class, err)
		}
		if (cfg.Partitioner != nil) != (class == "org.apache.kafka.clients.producer.RoundRobinPartitioner") {
			t.Errorf("%q: wrong partitioner", class)
		}
	}
}

func TestTyped(t *testing.T) {
	bubble(t, 1, []int32{1}, nil, func(r *rig) {
		typed := Typed[string, int64]{r.p, String, Int64}
		if err := typed.Send(context.Background(), "t", "k", 258, nil); err != nil {
			t.Fatal(err)
		}
		bad := Typed[string, string]{r.p, String, func(string, string) ([]byte, error) { return nil, errors.New("no") }}
		if err := bad.Send(context.Background(), "t", "k", "v", nil); err == nil {
			t.Error("what cannot be serialized was sent")
		}
		r.flush()
		r.mu.Lock()
		defer r.mu.Unlock()
		if got := r.stored["t-0"]; !slices.Equal(got, []string{"\x00\x00\x00\x00\x00\x00\x01\x02"}) {
			t.Errorf("stored %q", got)
		}
	})
	if b, _ := Float64("", 1); !slices.Equal(b, []byte{0x3f, 0xf0, 0, 0, 0, 0, 0, 0}) {
		t.Errorf("1.0 is % x", b)
	}
	if b, _ := Int32("", -2); !slices.Equal(b, []byte{0xff, 0xff, 0xff, 0xfe}) {
		t.Errorf("-2 is % x", b)
	}
}

// max.block.ms is for metadata and memory together.
func TestMaxBlockIsOneBudget(t *testing.T) {
	configure := func(c *Config) { c.MaxBlock, c.BufferMemory, c.BatchSize = 10*time.Second, 200, 200 }
	bubble(t, 1, []int32{1}, configure, func(r *rig) {
		r.silent = func(int32) bool { return true }
		r.send("fills the memory")
		time.AfterFunc(6*time.Second, func() { r.cluster.SetTopic("u", r.onOne()) })
		begin := time.Now()
		err := r.p.Send(context.Background(), Record{Topic: "u", Value: []byte("v")}, nil)
		if took := time.Since(begin); err == nil || took != 10*time.Second {
			t.Errorf("%v after %v", err, took)
		}
		r.mu.Lock()
		r.silent = nil
		r.mu.Unlock()
	})
}
