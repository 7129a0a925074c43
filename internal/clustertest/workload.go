package clustertest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// A Workload produces records that each have a name, "<partition>-<sequence>", and remembers which
// were acknowledged at which offset. Each partition has one producer goroutine, so that its order is
// defined; at most one produce request per broker is under way, so that a retry cannot reorder.
type Workload struct {
	Topic      string
	Partitions int32
	// Pace is the pause of each producer after a record; 0: none. Without one, virtual time stands still
	// while there is room for another record.
	Pace   time.Duration
	cl     *kgo.Client
	stop   chan struct{}
	wg     sync.WaitGroup
	sent   atomic.Int64
	acked  atomic.Int64
	failed atomic.Int64
	parts  []*history
}

// history is what one partition's producer was told.
type history struct {
	mu    sync.Mutex
	acks  []Ack // in the order of sequence
	sent  int64
	fails int64
}

// An Ack is one acknowledged record.
type Ack struct {
	Value  string
	Offset int64
	At     time.Time // when the acknowledgement came
}

// StartWorkload begins to produce, at most perPartition records in flight to each partition, with
// values padded to size bytes.
func StartWorkload(t testing.TB, seeds []string, topic string, partitions int32, perPartition, size int, acks kgo.Acks, opts ...kgo.Opt) *Workload {
	t.Helper()
	w := newWorkload(t, seeds, topic, partitions, acks, opts...)
	w.start(perPartition, size)
	return w
}

func newWorkload(t testing.TB, seeds []string, topic string, partitions int32, acks kgo.Acks, opts ...kgo.Opt) *Workload {
	w := &Workload{Topic: topic, Partitions: partitions, stop: make(chan struct{})}
	w.cl = outsideClient(t, seeds, append([]kgo.Opt{
		kgo.RequiredAcks(acks),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.MaxProduceRequestsInflightPerBroker(1),
		kgo.ProducerBatchCompression(kgo.NoCompression()), // so that segments fill as the sizes say
		kgo.ProducerLinger(time.Millisecond),
		kgo.ProduceRequestTimeout(5 * time.Second),
		kgo.RecordDeliveryTimeout(60 * time.Second),
		kgo.RequestTimeoutOverhead(3 * time.Second),
	}, opts...)...)
	for range partitions {
		w.parts = append(w.parts, &history{})
	}
	return w
}

func (w *Workload) start(perPartition, size int) {
	for p, h := range w.parts {
		w.wg.Go(func() { w.produce(int32(p), h, perPartition, size) })
	}
}

func (w *Workload) produce(partition int32, h *history, window, size int) {
	slots := make(chan struct{}, window)
	for seq := int64(0); ; seq++ {
		select {
		case <-w.stop:
			for range window { // all answers are in
				slots <- struct{}{}
			}
			return
		case slots <- struct{}{}:
		}
		value := Name(partition, seq, size)
		w.sent.Add(1)
		h.mu.Lock()
		h.sent++
		h.mu.Unlock()
		w.cl.Produce(context.Background(), &kgo.Record{Topic: w.Topic, Partition: partition, Value: []byte(value)}, func(r *kgo.Record, err error) {
			h.mu.Lock()
			if err == nil {
				h.acks = append(h.acks, Ack{value, r.Offset, time.Now()})
				w.acked.Add(1)
			} else {
				h.fails++
				w.failed.Add(1)
			}
			h.mu.Unlock()
			<-slots
		})
		if w.Pace > 0 {
			time.Sleep(w.Pace)
		}
	}
}

// Name is the value of record seq of a partition, padded to size bytes.
func Name(partition int32, seq int64, size int) string {
	s := fmt.Sprintf("%d-%d-", partition, seq)
	for len(s) < size {
		s += "................................................................"[:min(64, size-len(s))]
	}
	return s
}

// Acked is how many records were acknowledged so far; Failed how many the client gave up.
func (w *Workload) Acked() int64  { return w.acked.Load() }
func (w *Workload) Failed() int64 { return w.failed.Load() }

// AwaitAcks waits until n more records than now were acknowledged: the cluster makes progress.
func (w *Workload) AwaitAcks(t testing.TB, n int64, within time.Duration) {
	t.Helper()
	from := w.Acked()
	Eventually(t, within, fmt.Sprintf("%d more acknowledgements", n), func() (bool, string) {
		return w.Acked() >= from+n, fmt.Sprintf("%d so far", w.Acked()-from)
	})
}

// AwaitEveryPartition waits until each partition was acknowledged something more.
func (w *Workload) AwaitEveryPartition(t testing.TB, within time.Duration) {
	t.Helper()
	from := make([]int, len(w.parts))
	count := func(i int) int {
		w.parts[i].mu.Lock()
		defer w.parts[i].mu.Unlock()
		return len(w.parts[i].acks)
	}
	for i := range w.parts {
		from[i] = count(i)
	}
	Eventually(t, within, "an acknowledgement from every partition", func() (bool, string) {
		for i := range w.parts {
			if count(i) <= from[i] {
				return false, fmt.Sprintf("partition %d is silent", i)
			}
		}
		return true, ""
	})
}

// Stop ends producing and waits for the answers under way.
func (w *Workload) Stop() {
	close(w.stop)
	w.wg.Wait()
	w.cl.Close()
}

// Acks is what partition p was told, by sequence.
func (w *Workload) Acks(p int32) []Ack {
	h := w.parts[p]
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]Ack(nil), h.acks...)
}
