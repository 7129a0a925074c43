package clustertest

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// A Verdict is what the history checker found.
type Verdict struct {
	Acked      int      // acknowledged records
	Read       int      // records in the topic
	Lost       []string // acknowledged, and not at their offset
	Duplicates int      // the same name twice: retries without idempotence
	Disorder   []string // a name before an earlier one of its partition
}

// ReadAll reads a partition from the beginning to the high watermark that is seen at the start.
func ReadAll(t testing.TB, seeds []string, topic string, partition int32, opts ...kgo.Opt) map[int64]string {
	t.Helper()
	out, err := readAll(t, seeds, topic, partition, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func readAll(t testing.TB, seeds []string, topic string, partition int32, opts ...kgo.Opt) (map[int64]string, error) {
	cl := outsideClient(t, seeds, opts...)
	defer cl.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 120*time.Second)
	defer cancel()
	ends, err := kadm.NewClient(cl).ListEndOffsets(ctx, topic)
	if err != nil {
		return nil, err
	}
	end, ok := ends.Lookup(topic, partition)
	if !ok || end.Err != nil {
		return nil, fmt.Errorf("end offset of %s-%d: %w", topic, partition, end.Err)
	}
	out := map[int64]string{}
	if end.Offset == 0 {
		return out, nil
	}
	cl.AddConsumePartitions(map[string]map[int32]kgo.Offset{topic: {partition: kgo.NewOffset().AtStart()}})
	for last := int64(-1); last < end.Offset-1; {
		fetches := cl.PollFetches(ctx)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("reading %s-%d: at %d of %d when time ran out", topic, partition, last, end.Offset)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			out[r.Offset] = string(r.Value)
			last = r.Offset
		})
	}
	return out, nil
}

// Check reads everything and holds it against what was acknowledged. An acknowledged record must
// stand at the offset the producer was told: being somewhere is not enough.
func (w *Workload) Check(t testing.TB, seeds []string, opts ...kgo.Opt) Verdict {
	t.Helper()
	var v Verdict
	for p := range w.Partitions {
		v.judge(w.Acks(p), ReadAll(t, seeds, w.Topic, p, opts...))
	}
	return v
}

// judge holds what one partition holds against what its producer was told.
func (v *Verdict) judge(acks []Ack, stored map[int64]string) {
	v.Read += len(stored)
	for _, a := range acks {
		v.Acked++
		if stored[a.Offset] != a.Value {
			v.Lost = append(v.Lost, fmt.Sprintf("%s at %d (there: %.40q)", trim(a.Value), a.Offset, stored[a.Offset]))
		}
	}
	d, dup := disorder(stored)
	v.Disorder = append(v.Disorder, d...)
	v.Duplicates += dup
}

// disorder finds names whose first occurrence comes after that of a later name, and counts names
// that occur again.
func disorder(stored map[int64]string) (wrong []string, duplicates int) {
	seen := map[int64]bool{}
	highest, highestAt := int64(-1), int64(-1)
	for offset, left := int64(0), len(stored); left > 0; offset++ {
		v, ok := stored[offset]
		if !ok {
			continue
		}
		left--
		seq := sequence(v)
		switch {
		case seen[seq]:
			duplicates++
		case seq < highest:
			wrong = append(wrong, fmt.Sprintf("%s at %d after %d at %d", trim(v), offset, highest, highestAt))
		default:
			highest, highestAt = seq, offset
		}
		seen[seq] = true
	}
	return wrong, duplicates
}

func sequence(value string) int64 {
	parts := strings.SplitN(value, "-", 3)
	if len(parts) < 3 {
		return -1
	}
	n, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return -1
	}
	return n
}

func trim(v string) string { return strings.TrimRight(v, "-.") }

// MustBeWhole fails the test unless nothing acknowledged is lost and every order was kept.
func (v Verdict) MustBeWhole(t testing.TB) {
	t.Helper()
	t.Logf("acknowledged %d, read %d, lost %d, repeated %d, out of order %d", v.Acked, v.Read, len(v.Lost), v.Duplicates, len(v.Disorder))
	if v.Acked == 0 {
		t.Error("nothing was acknowledged: the test shows nothing")
	}
	if n := len(v.Lost); n > 0 {
		t.Errorf("%d acknowledged records lost, among them %v", n, v.Lost[:min(n, 5)])
	}
	if n := len(v.Disorder); n > 0 {
		t.Errorf("%d records out of order, among them %v", n, v.Disorder[:min(n, 5)])
	}
}
