package broker

import (
	"encoding/base64"
	"errors"
	"strings"
	"sync"
	"testing"

	"kz/broker/commitlog"
	"kz/broker/config"
	"kz/broker/network"
	"kz/internal/zk"
	"kz/zkpaths"
)

// Ref: Kafka 2.8 KafkaServer.getOrGenerateBrokerId
func TestChooseBrokerID(t *testing.T) {
	stored := func(id int32) *commitlog.MetaProperties { return &commitlog.MetaProperties{BrokerID: id} }
	for _, row := range []struct {
		rule       string
		configured int32
		generation bool
		stored     *commitlog.MetaProperties
		want       idSource
		ok         bool
	}{
		{"no meta.properties: the configured id", 5, true, nil, idConfigured, true},
		{"meta.properties without an id: the configured id", 5, true, stored(-1), idConfigured, true},
		{"stored and configured agree", 5, true, stored(5), idStored, true},
		{"stored and configured differ", 5, true, stored(6), 0, false},
		{"stored, none configured", -1, true, stored(1001), idStored, true},
		{"neither: generated", -1, true, nil, idGenerated, true},
		{"neither, generation off", -1, false, nil, 0, false},
		{"id 0 is an id", 0, true, stored(0), idStored, true},
	} {
		t.Run(row.rule, func(t *testing.T) {
			got, err := chooseBrokerID(&config.Config{BrokerID: row.configured, BrokerIDGenerationEnable: row.generation}, row.stored)
			if (err == nil) != row.ok || row.ok && got != row.want {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

func TestClusterIDOfTheDirectoriesMustAgree(t *testing.T) {
	for _, row := range []struct {
		stored *commitlog.MetaProperties
		ok     bool
	}{{nil, true}, {&commitlog.MetaProperties{}, true}, {&commitlog.MetaProperties{ClusterID: "a"}, true}, {&commitlog.MetaProperties{ClusterID: "b"}, false}} {
		if err := checkClusterID(row.stored, "a"); (err == nil) != row.ok {
			t.Errorf("%+v: %v", row.stored, err)
		}
	}
}

func TestNewClusterID(t *testing.T) {
	a, b := newClusterID(), newClusterID()
	raw, err := base64.RawURLEncoding.DecodeString(a)
	if err != nil || len(a) != 22 || len(raw) != 16 || a == b {
		t.Errorf("%q, %q: %v", a, b, err)
	}
	if raw[6]>>4 != 4 || raw[8]>>6 != 2 {
		t.Errorf("not a random UUID: % x", raw)
	}
}

// Many brokers start at once: one id, whoever wins.
func TestClusterIDHasOneWinner(t *testing.T) {
	r := newRig(t)
	var wg sync.WaitGroup
	ids := make([]string, 8)
	for i := range ids {
		wg.Go(func() {
			var err error
			if ids[i], err = getOrMakeClusterID(t.Context(), r.zk); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Fatalf("ids %v", ids)
		}
	}
	if got, want := r.get(zkpaths.ClusterID), `{"version":"1","id":"`+ids[0]+`"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Golden step 93: 1001, 1002; a restart keeps the id, a lost meta.properties does not.
func TestGeneratedBrokerIDs(t *testing.T) {
	r := newRig(t)
	auto := map[string]string{"broker.id": "-1"}
	one, two := r.start("one", auto), r.start("two", auto)
	if one.ID() != 1001 || two.ID() != 1002 {
		t.Fatalf("ids %d and %d", one.ID(), two.ID())
	}
	one.Stop()
	if again := r.start("one", auto); again.ID() != 1001 {
		t.Errorf("after a restart: %d", again.ID())
	}
	if err := r.broker("one", id(7)).Start(t.Context()); err == nil || !strings.Contains(err.Error(), "lock") {
		t.Errorf("a directory in use: %v", err)
	}
	two.Stop()
	if err := r.broker("two", id(7)).Start(t.Context()); err == nil || !strings.Contains(err.Error(), "meta.properties") || !strings.Contains(err.Error(), "1002") {
		t.Errorf("another id than the stored one: %v", err)
	}
	// Without /brokers/seqid it is made again.
	if err := r.zk.Delete(t.Context(), zkpaths.BrokerSequence, zk.AnyVersion); err != nil {
		t.Fatal(err)
	}
	if id, err := generateBrokerID(t.Context(), r.zk, 1000); err != nil || id != 1001 {
		t.Errorf("a fresh sequence: %d %v", id, err)
	}
}

func TestDirectoriesOfAnotherCluster(t *testing.T) {
	a, b := newRig(t), newRig(t)
	b.dir = a.dir
	a.start("x", id(1)).Stop()
	err := b.broker("x", id(1)).Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "wrong cluster") {
		t.Fatalf("got %v", err)
	}
	kids, err := b.zk.Children(t.Context(), zkpaths.BrokerIDs, false)
	if err != nil || len(kids) != 0 {
		t.Errorf("a refused broker registered: %v %v", kids, err)
	}
}

// Ref: Kafka 2.8 KafkaServer.createBrokerInfo, BrokerIdZNode.encode; golden steps 90, 91
func TestBrokerInfo(t *testing.T) {
	host := func() string { return "box.example" }
	bound := []network.Endpoint{{Listener: "PLAINTEXT", Port: 9092}, {Listener: "EXTRA", Port: 9093}}
	for _, row := range []struct {
		rule       string
		advertised []config.Listener
		want       string
	}{
		{"port 0 is the bound port, an empty host the machine's name",
			[]config.Listener{{Name: "PLAINTEXT", Protocol: "PLAINTEXT"}, {Name: "EXTRA", Host: "h", Protocol: "PLAINTEXT"}},
			`{"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT","EXTRA":"PLAINTEXT"},"endpoints":["PLAINTEXT://box.example:9092","EXTRA://h:9093"],"rack":"r","jmx_port":-1,"port":9092,"host":"box.example","version":4,"timestamp":"0"}`},
		{"what is advertised wins over what is bound",
			[]config.Listener{{Name: "PLAINTEXT", Host: "::1", Port: 1, Protocol: "PLAINTEXT"}},
			`{"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"},"endpoints":["PLAINTEXT://[::1]:1"],"rack":"r","jmx_port":-1,"port":1,"host":"::1","version":4,"timestamp":"0"}`},
		{"no PLAINTEXT listener: host null",
			[]config.Listener{{Name: "S", Host: "h", Port: 1, Protocol: "SASL_PLAINTEXT"}},
			`{"listener_security_protocol_map":{"S":"SASL_PLAINTEXT"},"endpoints":["S://h:1"],"rack":"r","jmx_port":-1,"port":-1,"host":null,"version":4,"timestamp":"0"}`},
	} {
		t.Run(row.rule, func(t *testing.T) {
			got := brokerInfo(&config.Config{AdvertisedListeners: row.advertised, Rack: "r"}, bound, host).Encode()
			if string(got) != row.want {
				t.Errorf("\n got %s\nwant %s", got, row.want)
			}
		})
	}
}

// Ref: Kafka 2.8 ProducerIdManager.getNewProducerIdBlock
func TestNextProducerIDBlock(t *testing.T) {
	for _, row := range []struct {
		rule, data string
		want       producerIDBlock
		ok         bool
	}{
		{"the next block begins behind the last", `{"version":1,"broker":3,"block_start":"4000","block_end":"4999"}`, producerIDBlock{5000, 5999}, true},
		{"the last block there can be", `{"version":1,"broker":3,"block_start":"0","block_end":"9223372036854774807"}`, producerIDBlock{9223372036854774808, 9223372036854775807}, true},
		{"used up", `{"version":1,"broker":3,"block_start":"0","block_end":"9223372036854774808"}`, producerIDBlock{}, false},
		{"not JSON", `x`, producerIDBlock{}, false},
	} {
		got, err := nextProducerIDBlock([]byte(row.data))
		if (err == nil) != row.ok || got != row.want {
			t.Errorf("%s: %+v %v", row.rule, got, err)
		}
	}
	if got, err := nextProducerIDBlock(nil); err != nil || got != (producerIDBlock{0, 999}) {
		t.Errorf("the first block: %+v %v", got, err)
	}
}

// Whoever claims at the same time: no id twice.
func TestProducerIDBlocksDoNotOverlap(t *testing.T) {
	r := newRig(t)
	if err := r.zk.CreateRecursive(t.Context(), zkpaths.ProducerIDBlock, nil); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	seen := map[int64]bool{}
	var wg sync.WaitGroup
	for broker := range int32(10) {
		wg.Go(func() {
			for range 5 {
				b, err := claimProducerIDBlock(t.Context(), r.zk, broker)
				mu.Lock()
				if err != nil || seen[b.first] || b.last-b.first != 999 || b.first%1000 != 0 {
					t.Errorf("block %+v, %v", b, err)
				}
				seen[b.first] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(seen) != 50 {
		t.Errorf("%d blocks", len(seen))
	}
}

// Golden step 80: a second process with the same id, while the first is alive.
func TestDuplicateBrokerIDIsRefused(t *testing.T) {
	r := newRig(t)
	r.start("first", id(1))
	before := r.get(zkpaths.Broker(1))
	err := r.broker("second", id(1)).Start(t.Context())
	if err == nil || !errors.Is(err, zk.NodeExists) || !strings.Contains(err.Error(), "broker id 1 is taken") {
		t.Fatalf("got %v", err)
	}
	if got := r.get(zkpaths.Broker(1)); got != before {
		t.Errorf("the registration changed to %s", got)
	}
	// meta.properties is written only after the registration: the directory is still free.
	r.start("second", id(2))
}

// Golden step 81: another broker advertises our address.
func TestSharedEndpointIsRefused(t *testing.T) {
	r := newRig(t)
	first := r.start("first", id(1))
	props := id(2)
	props["advertised.listeners"] = "PLAINTEXT://" + addrOf(first)
	err := r.broker("second", props).Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), addrOf(first)) || !strings.Contains(err.Error(), "broker 1") {
		t.Fatalf("got %v", err)
	}
}
