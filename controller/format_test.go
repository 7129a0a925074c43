package controller

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"kz/internal/topic"
	"kz/internal/wire"
	"kz/zkpaths"
)

// sampleLeaderAndISR is the request of docs/formats/leader-and-isr.md: controller 1 tells
// broker 9, whose registration has czxid 59, that it leads m-4.
func sampleLeaderAndISR() []byte {
	c := newCluster()
	c.epoch = 1
	c.brokers[9] = liveBroker{id: 9, epoch: 59, info: zkpaths.BrokerInfo{
		Endpoints: []zkpaths.Endpoint{{Listener: "PLAINTEXT", Host: "127.0.0.1", Port: 9099}},
	}}
	p := topic.Partition{Topic: "m", Partition: 4}
	c.setAssignment(p, assignment{replicas: []int32{9, 2}})
	b := newBatch(c)
	b.leaderAndISR([]int32{9}, p, leaderISR{leader: 9, leaderEpoch: 0, isr: []int32{9, 2}, controllerEpoch: 1, version: 0}, true)
	req := newTranslator(Config{BrokerID: 1, InterBrokerListener: "PLAINTEXT"}, c).request(b.flush()[0])
	return wire.AppendRequest(nil, req, 3, "1")
}

// field is one row of the drawing: so many bytes, and what they say.
type field struct {
	size int
	name string
	says string
}

// leaderAndISRFields is LeaderAndIsr v4 to the byte, for the sample.
var leaderAndISRFields = []field{
	{4, "size", "96 bytes follow"},
	{2, "api key", "4: LeaderAndIsr"},
	{2, "api version", "4"},
	{4, "correlation id", "3"},
	{2, "client id: length", "1"},
	{1, "client id", `"1": the controller's broker id`},
	{1, "header tags", "none"},
	{4, "controller id", "1"},
	{4, "controller epoch", "1"},
	{8, "broker epoch", "59: czxid of the receiver's registration"},
	{1, "topics: count + 1", "1 topic"},
	{1, "  topic: length + 1", "1"},
	{1, "  topic", `"m"`},
	{1, "  partitions: count + 1", "1 partition"},
	{4, "    partition", "4"},
	{4, "    controller epoch", "1: of the controller that wrote the state"},
	{4, "    leader", "9"},
	{4, "    leader epoch", "0: the first election"},
	{1, "    isr: count + 1", "2 members"},
	{4, "    isr[0]", "9"},
	{4, "    isr[1]", "2"},
	{4, "    zk version", "0: version of the state znode"},
	{1, "    replicas: count + 1", "2 replicas"},
	{4, "    replicas[0]", "9: the preferred leader"},
	{4, "    replicas[1]", "2"},
	{1, "    adding: count + 1", "none"},
	{1, "    removing: count + 1", "none"},
	{1, "    is new", "true"},
	{1, "    tags", "none"},
	{1, "  tags", "none"},
	{1, "live leaders: count + 1", "1 leader"},
	{4, "  broker id", "9"},
	{1, "  host: length + 1", "9"},
	{9, "  host", `"127.0.0.1"`},
	{4, "  port", "9099"},
	{1, "  tags", "none"},
	{1, "tags", "none"},
}

// drawLeaderAndISR prints real bytes beside their meaning.
func drawLeaderAndISR(frame []byte) string {
	var s strings.Builder
	at := 0
	for _, f := range leaderAndISRFields {
		if at+f.size > len(frame) {
			return s.String() + "the frame ends here\n"
		}
		fmt.Fprintf(&s, "%4d  %-28s%-26s %s\n", at, fmt.Sprintf("% x", frame[at:at+f.size]), f.name, f.says)
		at += f.size
	}
	if at != len(frame) {
		fmt.Fprintf(&s, "%d bytes more\n", len(frame)-at)
	}
	return s.String()
}

// The page shows what the code sends. Its values are those of a request that a real Kafka
// 2.8.2 controller sent to broker 9 (phase 5 of testdata/golden-requests.txt, correlation id
// 3, 96 bytes).
func TestLeaderAndISRFormat(t *testing.T) {
	drawn := drawLeaderAndISR(sampleLeaderAndISR())
	page, err := os.ReadFile("../docs/formats/leader-and-isr.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), drawn) {
		t.Errorf("docs/formats/leader-and-isr.md does not show these bytes:\n%s", drawn)
	}
	at, frame := 0, sampleLeaderAndISR()
	for _, f := range leaderAndISRFields {
		checkMeaning(t, f, frame[at:at+f.size])
		at += f.size
	}
	if size := len(sampleLeaderAndISR()) - 4; size != 96 {
		t.Errorf("%d bytes, real Kafka's request has 96", size)
	}
}

// checkMeaning compares a number in the drawing with the bytes it stands beside.
func checkMeaning(t *testing.T, f field, b []byte) {
	t.Helper()
	var value int64
	for _, x := range b {
		value = value<<8 | int64(x)
	}
	switch {
	case strings.HasPrefix(f.says, `"`): // text
		if want := strings.Split(f.says, `"`)[1]; string(b) != want {
			t.Errorf("%s: %q, the drawing says %s", f.name, b, want)
		}
		return
	case f.says == "true":
		f.says = "1"
	case f.says == "none":
		f.says = "0"
	}
	if strings.HasSuffix(f.name, "+ 1") {
		value--
	}
	var says int64
	if _, err := fmt.Sscan(strings.FieldsFunc(f.says, func(r rune) bool { return r == ':' || r == ' ' })[0], &says); err != nil {
		t.Errorf("%s: the drawing says %q, no number", f.name, f.says)
	} else if says != value {
		t.Errorf("%s: %d, the drawing says %d", f.name, value, says)
	}
}
