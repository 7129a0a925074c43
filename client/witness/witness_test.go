package witness

import (
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"kz/internal/fakebroker"
	"kz/internal/link"
	"kz/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// interview compares three brokers that serve Metadata and ListOffsets (versions 1 to 6) and say the same,
// but for what the test changes.
func interview(t *testing.T, change func(c *fakebroker.Cluster)) Report {
	t.Helper()
	n := link.NewMemory()
	c, err := fakebroker.New(n, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, v := range wire.Served() {
		if key := kmsg.Key(v.Key); key != kmsg.Metadata && key != kmsg.ListOffsets && key != kmsg.ApiVersions {
			c.SetVersions(key, 0, -1)
		}
	}
	c.SetTopic("orders", fakebroker.Topic{Leaders: []int32{1, 2, 3}})
	c.Handle(kmsg.ListOffsets, func(_ int32, req kmsg.Request) kmsg.Response { return offsets(req, 5) })
	change(c)
	addrs := map[int32]string{}
	for id := int32(1); id <= 3; id++ {
		addrs[id] = c.Addr(id)
	}
	w, err := New(t.Context(), n, addrs)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r, err := w.Compare(t.Context(), Scene{Topic: "orders", Leaders: []int32{1, 2, 3}, Ends: []int64{5, 5, 5}, Controller: 1})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// offsets answers every partition with this offset.
func offsets(req kmsg.Request, offset int64) *kmsg.ListOffsetsResponse {
	resp := kmsg.NewPtrListOffsetsResponse()
	for _, topic := range req.(*kmsg.ListOffsetsRequest).Topics {
		rt := kmsg.NewListOffsetsResponseTopic()
		rt.Topic = topic.Topic
		for _, p := range topic.Partitions {
			rp := kmsg.NewListOffsetsResponseTopicPartition()
			rp.Partition, rp.Offset = p.Partition, offset
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

func TestBrokersThatSayTheSame(t *testing.T) {
	r := interview(t, func(*fakebroker.Cluster) {})
	if r.Different() != 0 || len(r.Pairs) != 3 || len(r.Unlisted)+len(r.Narrowed) != 0 {
		t.Errorf("%+v", r)
	}
	// Six versions, four times to ask about, three partitions and the rest of the answer.
	i := slices.IndexFunc(r.Rows, func(row Row) bool { return row.Sort == "ListOffsets" })
	if i < 0 || !slices.Equal(r.Rows[i].Same, []int{6 * 4 * 4, 6 * 4 * 4, 6 * 4 * 4}) {
		t.Errorf("ListOffsets: %+v", r.Rows)
	}
}

// One partition in one version of one broker: the two pairs it is in differ, the third does not.
func TestOneAnswerThatDiffers(t *testing.T) {
	r := interview(t, func(c *fakebroker.Cluster) {
		c.Handle(kmsg.ListOffsets, func(node int32, req kmsg.Request) kmsg.Response {
			resp := offsets(req, 5)
			if q := req.(*kmsg.ListOffsetsRequest); node == 2 && req.GetVersion() == 3 && q.ReplicaID == debugReplica && q.Topics[0].Partitions[0].Timestamp == -2 {
				resp.Topics[0].Partitions[1].Offset = 6
			}
			return resp
		})
	})
	if r.Different() != 2 {
		t.Fatalf("%d differences: %v", r.Different(), r.Differences)
	}
	for i, want := range []string{"broker 1 {", "broker 2 {"} {
		if d := r.Differences[i]; !strings.HasPrefix(d, "ListOffsets v3, earliest orders-1: "+want) {
			t.Errorf("difference %d: %s", i, d)
		}
	}
	i := slices.IndexFunc(r.Rows, func(row Row) bool { return row.Sort == "ListOffsets" })
	if !slices.Equal(r.Rows[i].Different, []int{1, 0, 1}) {
		t.Errorf("by pair %v of %v", r.Rows[i].Different, r.Pairs)
	}
}

// What only some list is reported, and not asked of anybody.
func TestVersionsThatAreNotShared(t *testing.T) {
	r := interview(t, func(c *fakebroker.Cluster) {
		c.Handle(kmsg.ApiVersions, func(node int32, _ kmsg.Request) kmsg.Response {
			resp := kmsg.NewPtrApiVersionsResponse()
			low := int16(2)
			if node == 3 {
				low = 1
				resp.ApiKeys = append(resp.ApiKeys, kmsg.ApiVersionsResponseApiKey{ApiKey: int16(kmsg.DescribeGroups), MaxVersion: 5})
			}
			resp.ApiKeys = append(resp.ApiKeys,
				kmsg.ApiVersionsResponseApiKey{ApiKey: int16(kmsg.ListOffsets), MinVersion: low, MaxVersion: 6},
				kmsg.ApiVersionsResponseApiKey{ApiKey: int16(kmsg.Metadata), MaxVersion: 11})
			return resp
		})
		c.Handle(kmsg.ListOffsets, func(_ int32, req kmsg.Request) kmsg.Response {
			if req.GetVersion() < 2 {
				t.Errorf("asked in version %d, which two do not list", req.GetVersion())
			}
			return offsets(req, 5)
		})
	})
	if !slices.Equal(r.Unlisted, []string{"DescribeGroups"}) || !slices.Equal(r.Narrowed, []string{"ListOffsets"}) || r.APIs[3] != 3 || r.APIs[1] != 2 || r.Different() != 0 {
		t.Errorf("%+v", r)
	}
}
