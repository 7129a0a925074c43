package clustertest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"kz/internal/journal"
)

// Events reads every kz broker's journal file, over all its lives; Apache Kafka keeps none. A last line torn by a kill is left
// out. Sequence numbers are comparable only within one life of one broker.
func (c *Processes) Events(t testing.TB) []journal.Event {
	t.Helper()
	var all []journal.Event
	for _, n := range c.Sorted() {
		f, err := os.Open(n.Journal)
		if n.Kind != KZ && os.IsNotExist(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		sc := bufio.NewScanner(f)
		sc.Buffer(make([]byte, 1<<20), 16<<20)
		for sc.Scan() {
			var ev journal.Event
			if json.Unmarshal(sc.Bytes(), &ev) == nil {
				all = append(all, ev)
			}
		}
		_ = f.Close()
		if err := sc.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// TwoLeadersInOneEpoch lists partitions in which two brokers acted as leader of the same epoch. A
// broker acts when it becomes leader and whenever it appends as one.
func TwoLeadersInOneEpoch(events []journal.Event) []string {
	type term struct {
		topic     string
		partition int32
		epoch     int32
	}
	leaders := map[term]int32{}
	var wrong []string
	for _, ev := range events {
		if ev.Kind != journal.BecameLeader && ev.Kind != journal.LeaderAppend {
			continue
		}
		k := term{ev.Topic, ev.Partition, ev.LeaderEpoch}
		if was, ok := leaders[k]; ok && was != ev.Node {
			wrong = append(wrong, fmt.Sprintf("%s-%d epoch %d: brokers %d and %d", k.topic, k.partition, k.epoch, was, ev.Node))
		}
		leaders[k] = ev.Node
	}
	return wrong
}

// Count is how many events of a kind there are.
func Count(events []journal.Event, kind journal.Kind) int {
	n := 0
	for _, ev := range events {
		if ev.Kind == kind {
			n++
		}
	}
	return n
}
