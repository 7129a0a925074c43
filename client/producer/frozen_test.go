package producer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/kafkaerr"
)

// A broker that is frozen reads nothing: what was sent and is not answered stays below buffer.memory,
// Send gives up after max.block.ms, every record hears of its end by delivery.timeout.ms, and Close ends.
func TestFrozenBroker(t *testing.T) {
	const size, memory = 1000, 1 << 20
	for _, acks := range []int16{0, 1, -1} {
		t.Run(fmt.Sprint("acks ", acks), func(t *testing.T) {
			configure := func(c *Config) {
				c.Acks, c.BufferMemory, c.MaxBlock = acks, memory, 10*time.Second
			}
			bubble(t, 1, []int32{1, 1, 1}, configure, func(r *rig) {
				thaw := make(chan struct{})
				r.cluster.Handle(kmsg.Produce, func(int32, kmsg.Request) kmsg.Response { <-thaw; return nil })
				defer close(thaw)
				var mu sync.Mutex // guards what follows
				taken, answered := 0, 0
				hear := func(int64, Metadata, error) {
					mu.Lock()
					answered++
					mu.Unlock()
				}
				var err error
				var waited time.Duration
				for err == nil {
					begin := time.Now()
					err = r.p.Send(r.t.Context(), Record{Topic: "t", Partition: AnyPartition, Value: make([]byte, size)}, hear)
					waited = time.Since(begin)
					mu.Lock()
					if err == nil {
						taken++
					}
					if held := (taken - answered) * size; held > memory {
						r.t.Errorf("%d bytes are held, buffer.memory is %d", held, memory)
					}
					mu.Unlock()
				}
				if !errors.Is(err, kafkaerr.RequestTimedOut) || waited < r.p.cfg.MaxBlock || taken*size < memory/2 {
					r.t.Errorf("Send: %v after %v and %d records", err, waited, taken)
				}
				begin := time.Now()
				if err := r.p.Close(context.Background()); err != nil {
					r.t.Errorf("Close: %v", err)
				}
				if took := time.Since(begin); took > r.p.cfg.DeliveryTimeout+2*r.p.cfg.Client.RequestTimeout {
					r.t.Errorf("Close took %v", took)
				}
				if answered != taken {
					r.t.Errorf("%d of %d records heard of their end", answered, taken)
				}
			})
		})
	}
}
