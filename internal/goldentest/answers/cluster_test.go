package answers

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/clustertest"
	"kz/internal/wire"
	"kz/internal/zktest"
)

func TestMain(m *testing.M) { zktest.Main(m) }

// environment is three brokers, set up as those of the capture were.
type environment struct {
	run     string // in every name that this run makes
	cluster *clustertest.InProcess
	address map[int32]string
}

// captured is what the brokers of the capture had besides Kafka's defaults.
var captured = map[string]string{
	"inter.broker.protocol.version":    "2.6",
	"group.initial.rebalance.delay.ms": "0",
	"group.max.size":                   "4",
}

// start starts brokers 1, 2, 3 on an empty ZooKeeper. Unless the cluster is to be fresh, the
// internal topics exist afterwards: the capture began with a FindCoordinator of each kind.
func start(t *testing.T, fresh bool) *environment {
	t.Helper()
	s := zktest.Shared(t)
	e := &environment{run: randomText(6), address: map[int32]string{}}
	e.cluster = clustertest.StartInProcess(t, s.Addr+s.Chroot(), 3, captured)
	for _, m := range e.cluster.Sorted() {
		e.address[m.ID] = m.Addr
	}
	e.cluster.Controller()
	for id := range e.address {
		clustertest.Eventually(t, patience, fmt.Sprintf("broker %d to know all brokers", id), func() (bool, string) {
			md := kmsg.NewPtrMetadataRequest()
			md.Topics = []kmsg.MetadataRequestTopic{}
			resp, err := e.ask(id, md, 1)
			if err != nil {
				return false, err.Error()
			}
			m := resp.(*kmsg.MetadataResponse)
			return len(m.Brokers) == 3 && m.ControllerID > 0, fmt.Sprint(len(m.Brokers), " brokers, controller ", m.ControllerID)
		})
	}
	if !fresh {
		e.internalTopics(t)
	}
	return e
}

// controller is asked anew: it may have moved.
func (e *environment) controller() int32 { return e.cluster.Controller() }

func (e *environment) internalTopics(t *testing.T) {
	t.Helper()
	r := kmsg.NewPtrCreateTopicsRequest()
	r.TimeoutMillis = int32(patience / time.Millisecond)
	for _, name := range []string{"__consumer_offsets", "__transaction_state"} {
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, 50, 3
		topic.Configs = []kmsg.CreateTopicsRequestTopicConfig{{Name: "cleanup.policy", Value: kmsg.StringPtr("compact")}}
		r.Topics = append(r.Topics, topic)
	}
	resp, err := e.ask(e.controller(), r, 4)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range resp.(*kmsg.CreateTopicsResponse).Topics {
		if x.ErrorCode != 0 {
			t.Fatalf("creating %s: %s", x.Topic, errorName(x.ErrorCode))
		}
	}
}

// rangeOf is the versions of an API that kz advertises.
func rangeOf(api string) (wire.VersionRange, bool) {
	key, ok := apiKey(api)
	if !ok {
		return wire.VersionRange{}, false
	}
	return wire.Lookup(key)
}

// serves says whether kz advertises that version of the API.
func serves(api string, version int16) bool {
	r, ok := rangeOf(api)
	return ok && r.Contains(version)
}

// ask is for preparations: nothing is recorded.
func (e *environment) ask(broker int32, req kmsg.Request, version int16) (kmsg.Response, error) {
	c, err := dial(e.address[broker])
	if err != nil {
		return nil, err
	}
	defer c.Close()
	x := &conn{net: c, clientID: kmsg.StringPtr("ans")}
	corr := x.write(req, version)
	b, err := x.readFrame(patience)
	if err != nil {
		return nil, err
	}
	resp, _, err := decode(req, corr, b)
	return resp, err
}
