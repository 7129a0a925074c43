package admin

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"kz/broker/commitlog"
	"kz/broker/config"
	"kz/internal/kafkaerr"
)

// Ref: what Kafka 2.8.2 answered to DescribeConfigs of every topic key and broker key,
// synonyms in its order, ../config/testdata/configs.json
func TestDescribeAsKafkaDoes(t *testing.T) {
	var all struct{ Topic, Broker []goldenEntry }
	b, err := os.ReadFile("../config/testdata/configs.json")
	if err == nil {
		err = json.Unmarshal(b, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	r := newRoom(t, "listeners", "PLAINTEXT://:9092", "log.dirs", "/d", "inter.broker.protocol.version", "2.6",
		"group.initial.rebalance.delay.ms", "0", "group.max.size", "4")
	r.tree.put("/config/topics/t", `{"version":1,"config":{"retention.ms":"-1"}}`)
	got, err := r.configs.DescribeTopic(context.Background(), "t", true)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, got, all.Topic)
	if got, err = r.configs.DescribeBroker("1"); err != nil {
		t.Fatal(err)
	}
	compare(t, got, all.Broker)
}

type goldenEntry struct {
	Name      string
	Value     *string
	Type      string
	Source    string
	ReadOnly  bool
	Sensitive bool
	Synonyms  []goldenSynonym
}

type goldenSynonym struct {
	Name   string
	Value  *string
	Source string
}

var sourceNames = map[Source]string{SourceTopic: "DYNAMIC_TOPIC_CONFIG", SourceDynamicBroker: "DYNAMIC_BROKER_CONFIG",
	SourceDynamicDefaultBroker: "DYNAMIC_DEFAULT_BROKER_CONFIG", SourceStaticBroker: "STATIC_BROKER_CONFIG", SourceDefault: "DEFAULT_CONFIG"}

// machine is what the golden file says where a value is the capturing machine's own.
const machine = "(this machine)"

func compare(t *testing.T, got []Entry, want []goldenEntry) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d entries, Kafka has %d", len(got), len(want))
		return
	}
	text := func(s *string) string {
		if s == nil {
			return "(null)"
		}
		return *s
	}
	for i, g := range got {
		w := want[i]
		if w.Value != nil && *w.Value == machine {
			w.Value = g.Value
		}
		var synonyms []goldenSynonym
		for j, s := range g.Synonyms {
			gs := goldenSynonym{s.Name, s.Value, sourceNames[s.Source]}
			if g.Name == "inter.broker.protocol.version" && s.Source == SourceDefault {
				gs.Value = w.Synonyms[j].Value // 2.8-IV1 there, 2.6 here: docs/divergence.md
			}
			synonyms = append(synonyms, gs)
		}
		for j := range w.Synonyms {
			if w.Synonyms[j].Value != nil && *w.Synonyms[j].Value == machine && j < len(synonyms) {
				w.Synonyms[j].Value = synonyms[j].Value
			}
		}
		if g.Name != w.Name || text(g.Value) != text(w.Value) || g.Type.String() != w.Type || sourceNames[g.Source] != w.Source || g.ReadOnly != w.ReadOnly || g.Sensitive != w.Sensitive {
			t.Errorf("%s = %s (%s, %s, read only %v, sensitive %v)\nKafka: %+v %s", g.Name, text(g.Value), g.Type, sourceNames[g.Source], g.ReadOnly, g.Sensitive, w, text(w.Value))
		}
		same := slices.EqualFunc(synonyms, w.Synonyms, func(a, b goldenSynonym) bool {
			return a.Name == b.Name && a.Source == b.Source && text(a.Value) == text(b.Value)
		})
		if !same {
			t.Errorf("%s: synonyms differ: %d, Kafka has %d", g.Name, len(synonyms), len(w.Synonyms))
		}
		if g.Doc == "" {
			t.Errorf("%s has no text", g.Name)
		}
	}
}

func TestDescribeDynamic(t *testing.T) {
	r := newRoom(t, "log.retention.hours", "2", "min.insync.replicas", "1")
	r.tree.put("/config/brokers/<default>", `{"version":1,"config":{"min.insync.replicas":"2","log.retention.ms":"5","nonsense":"x"}}`)
	r.tree.put("/config/brokers/1", `{"version":1,"config":{"min.insync.replicas":"3"}}`)
	if err := r.configs.LoadBroker(context.Background()); err != nil {
		t.Fatal(err)
	}
	find := func(entries []Entry, name string) string {
		for _, e := range entries {
			if e.Name == name {
				s := name + "="
				if e.Value != nil {
					s += *e.Value
				}
				for _, y := range e.Synonyms {
					s += " " + sourceNames[y.Source] + ":" + y.Name
					if y.Value != nil {
						s += "=" + *y.Value
					}
				}
				return s
			}
		}
		return "none"
	}
	broker, _ := r.configs.DescribeBroker("1")
	topic, _ := r.configs.DescribeTopic(context.Background(), "t", true)
	defaults, _ := r.configs.DescribeBroker("")
	for _, row := range []struct{ rule, got, want string }{
		{"per broker wins", find(broker, "min.insync.replicas"),
			"min.insync.replicas=3 DYNAMIC_BROKER_CONFIG:min.insync.replicas=3 DYNAMIC_DEFAULT_BROKER_CONFIG:min.insync.replicas=2 STATIC_BROKER_CONFIG:min.insync.replicas=1 DEFAULT_CONFIG:min.insync.replicas=1"},
		{"topics inherit it", find(topic, "min.insync.replicas"),
			"min.insync.replicas=3 DYNAMIC_BROKER_CONFIG:min.insync.replicas=3 DYNAMIC_DEFAULT_BROKER_CONFIG:min.insync.replicas=2 STATIC_BROKER_CONFIG:min.insync.replicas=1 DEFAULT_CONFIG:min.insync.replicas=1"},
		{"units in between", find(topic, "retention.ms"),
			"retention.ms=5 DYNAMIC_DEFAULT_BROKER_CONFIG:log.retention.ms=5 STATIC_BROKER_CONFIG:log.retention.hours=2 DEFAULT_CONFIG:log.retention.hours=168"},
		{"the cluster's defaults alone", find(defaults, "min.insync.replicas"), "min.insync.replicas=2 DYNAMIC_DEFAULT_BROKER_CONFIG:min.insync.replicas=2"},
		{"a key nobody knows hides its value", find(broker, "nonsense"), "nonsense= DYNAMIC_DEFAULT_BROKER_CONFIG:nonsense"},
	} {
		if row.got != row.want {
			t.Errorf("%s:\ngot  %s\nwant %s", row.rule, row.got, row.want)
		}
	}
}

// Ref: what Kafka 2.8.2 answered
func TestDescribeRefuses(t *testing.T) {
	r := newRoom(t)
	for name, want := range map[string]string{
		"2": "Unexpected broker id, expected 1 or empty string, but received 2",
		"x": "Broker id must be an integer, but it is: x",
	} {
		if _, err := r.configs.DescribeBroker(name); kafkaerr.CodeOf(err) != kafkaerr.InvalidRequest || kafkaerr.MessageOf(err) != want {
			t.Errorf("broker %q: %v", name, err)
		}
	}
	if _, err := r.configs.DescribeTopic(context.Background(), "t", false); kafkaerr.CodeOf(err) != kafkaerr.UnknownTopicOrPartition || kafkaerr.MessageOf(err) != "" {
		t.Errorf("unknown topic: %v", err)
	}
	if _, err := r.configs.DescribeTopic(context.Background(), "a b", true); kafkaerr.CodeOf(err) != kafkaerr.InvalidTopicException {
		t.Errorf("illegal name: %v", err)
	}
}

// heard is what the rooms were told.
type heard chan string

func (h heard) appliers() Appliers {
	return Appliers{
		SetDefaults: func(c commitlog.Config) { h <- "defaults min.insync=" + string(rune('0'+c.MinInsyncReplicas)) },
		UpdateTopicConfig: func(name string, c commitlog.Config) {
			h <- "topic " + name + " compression=" + c.CompressionType + " min.insync=" + string(rune('0'+c.MinInsyncReplicas))
		},
		EnableUncleanElection: func(name string) { h <- "unclean " + name },
	}
}

// Ref: Kafka 2.8 ZkNodeChangeNotificationListener, TopicConfigHandler, BrokerConfigHandler
func TestChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr, h := newTree(), make(heard, 16)
		cfg, _, err := config.Parse(map[string]string{"zookeeper.connect": "h:1", "broker.id": "1"})
		if err != nil {
			t.Fatal(err)
		}
		configs := NewConfigs(cfg, tr, zerolog.Nop())
		configs.SetAppliers(h.appliers())
		announce := func(entity string) {
			tr.mu.Lock()
			defer tr.mu.Unlock()
			p := "/config/changes/config_change_" + strings.Repeat("0", 9) + string(rune('0'+tr.sequence))
			tr.sequence++
			if err := tr.create(p, []byte(`{"version":2,"entity_path":"`+entity+`"}`)); err != nil {
				t.Error(err)
			}
		}
		expect := func(want ...string) {
			t.Helper()
			synctest.Wait()
			for _, w := range want {
				select {
				case got := <-h:
					if got != w {
						t.Errorf("heard %q, want %q", got, w)
					}
				default:
					t.Errorf("silence, want %q", w)
				}
			}
			select {
			case got := <-h:
				t.Errorf("heard %q besides", got)
			default:
			}
		}
		tr.put("/config/topics/t", `{"version":1,"config":{"compression.type":"lz4"}}`)
		announce("topics/t") // before the broker started: replayed
		tr.put("/config/changes/not-one-of-ours", `x`)
		c := NewChanges(tr, configs, zerolog.Nop())
		c.Start()
		expect("topic t compression=lz4 min.insync=1")

		if got := configs.TopicConfig("t"); got.CompressionType != "lz4" {
			t.Errorf("compression %s", got.CompressionType)
		}
		tr.put("/config/brokers/<default>", `{"version":1,"config":{"min.insync.replicas":"2","unclean.leader.election.enable":"true"}}`)
		announce("brokers/<default>")
		expect("defaults min.insync=2", "topic t compression=lz4 min.insync=2", "unclean ")

		announce("brokers/<default>") // nothing new in it
		announce("brokers/2")         // another broker's
		announce("users/alice")       // without effect
		announce("nonsense")          // unknown, does not stop what follows
		tr.put("/config/topics/t", `{"version":1,"config":{"unclean.leader.election.enable":"true","compression.type":"zstd"}}`)
		announce("topics/t")
		expect("topic t compression=zstd min.insync=2", "unclean t")

		tr.put("/config/brokers/1", `{"version":1,"config":{"min.insync.replicas":"0"}}`)
		announce("brokers/1") // out of range: ignored
		expect()
		if got := configs.Current().LogDefaults.MinInsyncReplicas; got != 2 {
			t.Errorf("min.insync.replicas %d", got)
		}

		time.Sleep(changeExpiration + time.Second)
		announce("topics/u")
		expect("topic u compression=producer min.insync=2")
		left, _ := tr.Children(context.Background(), "/config/changes", false)
		slices.Sort(left)
		if want := []string{"config_change_0000000008", "not-one-of-ours"}; !slices.Equal(left, want) {
			t.Errorf("left after 15 minutes: %v", left)
		}
		c.Stop()
	})
}

// A topic that comes again after its deletion has another config, which nobody announces.
func TestForget(t *testing.T) {
	r := newRoom(t)
	r.tree.put("/config/topics/t", `{"version":1,"config":{"compression.type":"lz4"}}`)
	if got := r.configs.TopicConfig("t").CompressionType; got != "lz4" {
		t.Errorf("compression %s", got)
	}
	r.tree.put("/config/topics/t", `{"version":1,"config":{"compression.type":"gzip"}}`)
	if got := r.configs.TopicConfig("t").CompressionType; got != "lz4" {
		t.Errorf("without a notification the config is kept, got %s", got)
	}
	r.configs.Forget("t")
	if got := r.configs.TopicConfig("t").CompressionType; got != "gzip" {
		t.Errorf("after Forget: %s", got)
	}
}

// Opening a thousand logs asks ZooKeeper nothing.
func TestLoadBrokerReadsEveryTopicAtOnce(t *testing.T) {
	r := newRoom(t)
	r.tree.put("/config/topics/a", `{"version":1,"config":{"compression.type":"lz4"}}`)
	r.tree.put("/config/topics/broken", `{"version":1`)
	r.tree.put("/config/topics/nonsense", `{"version":1,"config":{"compression.type":"brotli"}}`)
	if err := r.configs.LoadBroker(context.Background()); err != nil {
		t.Fatal(err)
	}
	before := r.tree.reads
	for name, want := range map[string]string{"a": "lz4", "nonsense": "producer"} {
		if got := r.configs.TopicConfig(name).CompressionType; got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if r.tree.reads != before {
		t.Errorf("%d more reads", r.tree.reads-before)
	}
	if got := r.configs.TopicConfig("broken").CompressionType; got != "producer" {
		t.Errorf("broken: %s", got)
	}
}

// Whoever asks for compaction is told once per reading that nothing is compacted.
func TestCompactionIsNotTakenSilently(t *testing.T) {
	tr, log := newTree(), new(strings.Builder)
	cfg, _, err := config.Parse(map[string]string{"zookeeper.connect": "h:1", "broker.id": "1"})
	if err != nil {
		t.Fatal(err)
	}
	configs := NewConfigs(cfg, tr, zerolog.New(log))
	for name, policy := range map[string]string{"plain": "delete", "both": "compact,delete", "__consumer_offsets": "compact"} {
		tr.put("/config/topics/"+name, `{"version":1,"config":{"cleanup.policy":"`+policy+`"}}`)
		configs.TopicConfig(name)
		configs.TopicConfig(name)
	}
	if got := log.String(); strings.Count(got, "compaction is without effect") != 1 || !strings.Contains(got, `"topic":"both"`) {
		t.Errorf("logged %q", got)
	}
}

// A config that cannot be read is said once, not with each request that needs it, and asks
// ZooKeeper no more than a good one; what can be read of it holds.
func TestBadTopicConfigIsSaidOnce(t *testing.T) {
	tr, log := newTree(), new(strings.Builder)
	cfg, _, err := config.Parse(map[string]string{"zookeeper.connect": "h:1", "broker.id": "1", "log.cleanup.policy": "compact"})
	if err != nil {
		t.Fatal(err)
	}
	tr.put("/config/brokers/1", "garbage{") // must not keep the broker from starting
	tr.put("/config/topics/garbage", "garbage{")
	tr.put("/config/topics/number", `{"version":1,"config":{"retention.ms":5,"compression.type":"lz4"}}`)
	tr.put("/config/topics/word", `{"version":1,"config":{"retention.ms":"x","compression.type":"lz4"}}`)
	configs := NewConfigs(cfg, tr, zerolog.New(log))
	if err := configs.LoadBroker(context.Background()); err != nil {
		t.Fatal(err)
	}
	reads := tr.reads
	for range 3 {
		for name, want := range map[string]string{"garbage": "producer", "number": "lz4", "word": "lz4"} {
			if got := configs.TopicConfig(name).CompressionType; got != want {
				t.Errorf("%s: compression %s, want %s", name, got, want)
			}
		}
	}
	if tr.reads != reads {
		t.Errorf("%d more reads", tr.reads-reads)
	}
	for _, once := range []string{`brokers/1: entity config: not a JSON object`, `"topic":"garbage"`, `"topic":"number"`, `"topic":"word"`, "of topics without a cleanup.policy"} {
		if n := strings.Count(log.String(), once); n != 1 {
			t.Errorf("%s is said %d times:\n%s", once, n, log)
		}
	}
}

// Ref: Kafka 2.8.2: no JSON is no override; a value of another type, or one that does not
// fit, is UNKNOWN_SERVER_ERROR, which here says what is wrong.
func TestDescribeBadTopicConfig(t *testing.T) {
	r := newRoom(t)
	for data, want := range map[string]string{
		`garbage{`: "",
		`{"version":1,"config":{"message.format.version":"0.9.0"}}`: "", // not served, but a good value
		`{"version":1,"config":{"retention.ms":5}}`:                 `/config/topics/t: entity config: key "retention.ms"`,
		`{"version":1,"config":{"retention.ms":"x"}}`:               "/config/topics/t: Invalid value x for configuration retention.ms: Not a number of type LONG",
	} {
		r.tree.put("/config/topics/t", data)
		entries, err := r.configs.DescribeTopic(context.Background(), "t", true)
		if want == "" && (err != nil || len(entries) == 0) {
			t.Errorf("%s: %d entries, %v", data, len(entries), err)
		}
		if want != "" && (kafkaerr.CodeOf(err) != kafkaerr.UnknownServerError || !strings.HasPrefix(kafkaerr.MessageOf(err), want)) {
			t.Errorf("%s: %v", data, err)
		}
	}
}
