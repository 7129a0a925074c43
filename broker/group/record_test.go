package group

import (
	"bytes"
	"fmt"
	"os"
	"reflect"
	"testing"

	"kz/internal/record"
	"kz/internal/topic"
)

// Real Kafka 2.8.2's __consumer_offsets-12: range and cooperative groups, static members, a
// simple group, retentions, deleted groups, transactions, expired offsets.
func goldenLog(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name + ".log")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Every record that Kafka wrote is read, and written again is the same to the byte.
func TestRecordsAreKafkasBytes(t *testing.T) {
	count := map[string]int{}
	for b, err := range record.Batches(goldenLog(t, "consumer-offsets")) {
		if err != nil {
			t.Fatal(err)
		}
		if b.IsControl() {
			count["marker"]++
			continue
		}
		wantSequence := int32(plainSequence)
		for r, err := range b.Records() {
			if err != nil {
				t.Fatal(err)
			}
			k, err := readKey(r.Key)
			if err != nil {
				t.Fatal(err)
			}
			key, value := groupKey(k.group), []byte(nil)
			switch {
			case k.isOffset:
				key = offsetKey(k.group, k.offset)
				if r.Value != nil {
					wantSequence = commitSequence
					o, err := readOffsetValue(r.Value)
					if err != nil {
						t.Fatal(err)
					}
					value = offsetValue(o)
					count["offset"]++
				}
			case r.Value != nil:
				g, err := readGroupValue(r.Value)
				if err != nil {
					t.Fatal(err)
				}
				value = g.encode()
				count["group"]++
			}
			if r.Value == nil {
				count["tombstone"]++
			}
			if !bytes.Equal(key, r.Key) || !bytes.Equal(value, r.Value) {
				t.Errorf("offset %d:\nKafka %x = %x\nkz    %x = %x", r.Offset, r.Key, r.Value, key, value)
			}
		}
		if b.BaseSequence() != wantSequence {
			t.Errorf("the batch at %d has base sequence %d, kz would write %d", b.BaseOffset(), b.BaseSequence(), wantSequence)
		}
	}
	for _, kind := range []string{"marker", "offset", "group", "tombstone"} {
		if count[kind] < 2 {
			t.Errorf("%d records of kind %s: the file shows too little", count[kind], kind)
		}
	}
}

// What a coordinator makes of it: as GroupMetadataManager would, in a log of all kinds of
// ends and in one of which all but one open end has expired.
func TestLoadingWhatKafkaWrote(t *testing.T) {
	want := map[string]string{
		"g-simple-9":     "Empty 0: golden-in-0 100, golden-in-1 101, golden-in-2 102",
		"g-retention-34": "Empty 0: golden-in-0 7, golden-in-1 8",
		"g-offdel-56":    "Empty 2: golden-in-0 40", // OffsetDelete took the other
		"g-range-35":     "Empty 4: golden-in-0 12, golden-in-1 11",
		"g-coop-53":      "Empty 4: golden-in-3 33",
		"g-txn-3":        "Empty 0: golden-in-0 5, golden-in-1 6", // 99 was aborted
	}
	if got := loadedGroups(t, "consumer-offsets"); !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
	if got := loadedGroups(t, "consumer-offsets-expired"); !reflect.DeepEqual(got, map[string]string{"g-retention-34": "Empty 0: golden-in-0 7"}) {
		t.Errorf("expired: got %q", got)
	}
}

func loadedGroups(t *testing.T, name string) map[string]string {
	l := newLoaded()
	if _, err := l.batches(goldenLog(t, name), 0); err != nil || len(l.skipped) > 0 || len(l.open) > 0 {
		t.Fatal(err, l.skipped, l.open)
	}
	c := New(testConfig, Deps{})
	defer c.timer.Stop()
	out := map[string]string{}
	for id, g := range c.assemble(l) {
		s := fmt.Sprintf("%v %d:", g.state, g.generation)
		for i, p := range g.offsets.partitions() {
			if i > 0 {
				s += ","
			}
			s += fmt.Sprintf(" %v %d", p, g.offsets.stored[p].Offset)
		}
		out[id] = s
	}
	return out
}

// The versions of older brokers, which are only read.
func TestOldVersionsAreRead(t *testing.T) {
	name, protocol := "inst", "range"
	full := storedGroup{ProtocolType: "consumer", Generation: 4, Protocol: &protocol, Leader: &name, StateTimestamp: 77, Members: []storedMember{
		{ID: "m", InstanceID: &name, ClientID: "c", ClientHost: "/h", RebalanceTimeoutMs: 5, SessionTimeoutMs: 6, Subscription: []byte("s"), Assignment: []byte("a")}}}
	for v := int16(0); v <= 3; v++ {
		want := full
		want.Members = append([]storedMember(nil), full.Members...)
		if v < 3 {
			want.Members[0].InstanceID = nil
		}
		if v < 2 {
			want.StateTimestamp = -1
		}
		if v < 1 {
			want.Members[0].RebalanceTimeoutMs = 6 // the session's
		}
		got, err := readGroupValue(full.encodeAs(v))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("version %d: %+v, %v", v, got, err)
		}
	}
	for v, text := range map[int]string{
		0: "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x07\x00\x01m\x00\x00\x00\x00\x00\x00\x00\x09",
		2: "\x00\x02\x00\x00\x00\x00\x00\x00\x00\x07\x00\x01m\x00\x00\x00\x00\x00\x00\x00\x09",
		1: "\x00\x01\x00\x00\x00\x00\x00\x00\x00\x07\x00\x01m\x00\x00\x00\x00\x00\x00\x00\x09\x00\x00\x00\x00\x00\x00\x00\x0a",
	} {
		want := OffsetAndMetadata{Offset: 7, LeaderEpoch: -1, Metadata: "m", CommitTimestamp: 9, ExpireTimestamp: -1}
		if v == 1 {
			want.ExpireTimestamp = 10
		}
		if got, err := readOffsetValue([]byte(text)); err != nil || got != want {
			t.Errorf("version %d: %+v, %v", v, got, err)
		}
	}
	if k, err := readKey([]byte("\x00\x00\x00\x01g\x00\x01t\x00\x00\x00\x05")); err != nil || k.group != "g" || k.offset != (topic.Partition{Topic: "t", Partition: 5}) {
		t.Errorf("key version 0: %+v, %v", k, err)
	}
	if _, err := readKey([]byte{0, 3, 0, 0}); err == nil {
		t.Error("a key of version 3 was read")
	}
}

// Whatever bytes are in the topic, they are read or refused; and what was read is written
// back the same, when it is of the version that is written.
func FuzzRecords(f *testing.F) {
	for b := range record.Batches(goldenLog(f, "consumer-offsets-expired")) {
		for r := range b.Records() {
			f.Add(r.Key, r.Value)
		}
	}
	f.Fuzz(func(t *testing.T, key, value []byte) {
		if k, err := readKey(key); err == nil && !k.isOffset {
			_ = groupKey(k.group)
		}
		if g, err := readGroupValue(value); err == nil && value[1] == 3 {
			if again := g.encode(); !bytes.HasPrefix(value, again) && len(g.Members) > 0 {
				t.Errorf("%x became %x", value, again)
			}
		}
		if o, err := readOffsetValue(value); err == nil && value[1] == 3 && !bytes.HasPrefix(value, offsetValue(o)) {
			t.Errorf("%x became %x", value, offsetValue(o))
		}
		_, _ = parseSubscription(value)
	})
}

func TestPartitionFor(t *testing.T) {
	for id, want := range map[string]int32{"test": 48, "my-group": 12, "": 0, "größe": PartitionFor("größe", 50)} {
		if got := PartitionFor(id, 50); got != want || got < 0 {
			t.Errorf("%q: %d, want %d", id, got, want)
		}
	}
	if got := PartitionFor("polygenelubricants", 50); got != 0 { // its hash is the smallest number there is
		t.Errorf("the smallest hash goes to %d", got)
	}
}
