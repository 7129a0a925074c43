package group

import (
	"encoding/hex"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"kz/internal/topic"
)

// The bytes that docs/formats/consumer-offsets.md shows are those that are written here.
func TestConsumerOffsetsPage(t *testing.T) {
	protocol, leader := "range", "c-1"
	o := OffsetAndMetadata{Offset: 42, LeaderEpoch: 5, Metadata: "m", CommitTimestamp: 1600000000000, ExpireTimestamp: -1}
	own := o
	own.ExpireTimestamp = o.CommitTimestamp + 100000
	g := storedGroup{ProtocolType: "consumer", Generation: 1, Protocol: &protocol, Leader: &leader, StateTimestamp: 1600000000000, Members: []storedMember{
		{ID: "c-1", ClientID: "c", ClientHost: "/10.0.0.1", RebalanceTimeoutMs: 60000, SessionTimeoutMs: 10000, Subscription: subscriptionOf("orders"),
			Assignment: []byte("\x00\x00\x00\x00\x00\x01\x00\x06orders\x00\x00\x00\x01\x00\x00\x00\x03\xff\xff\xff\xff")}}}
	want := map[string][]byte{
		"offset-key 1": offsetKey("g", topic.Partition{Topic: "orders", Partition: 3}), "offset-value 3": offsetValue(o), "offset-value 1": offsetValue(own),
		"group-key 2": groupKey("g"), "group-value 3": g.encode(),
	}
	page, err := os.ReadFile("../../docs/formats/consumer-offsets.md")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`^ *(\d+)  ((?:[0-9a-f]{2} ?){1,8})(?: |$)`)
	shown := regexp.MustCompile("(?s)```([a-z]+-[a-z]+ \\d+)\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(shown) != len(want) {
		t.Errorf("the page shows %d blocks, %d are checked", len(shown), len(want))
	}
	for _, block := range shown {
		got := ""
		for _, l := range strings.Split(strings.TrimSpace(block[2]), "\n") {
			m := line.FindStringSubmatch(" " + l)
			if m == nil {
				t.Fatalf("%s: no bytes in %q", block[1], l)
			}
			if m[1] != strconv.Itoa(len(got)/2) {
				t.Errorf("%s: position %s, the bytes before it count %d", block[1], m[1], len(got)/2)
			}
			got += strings.ReplaceAll(m[2], " ", "")
		}
		if got != hex.EncodeToString(want[block[1]]) {
			t.Errorf("%s\nwritten %x\nshown   %s", block[1], want[block[1]], got)
		}
	}
}
