package config

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// with is a small valid config plus what the test sets.
func with(kv ...string) map[string]string {
	m := map[string]string{"zookeeper.connect": "localhost:2181", "broker.id": "1"}
	for i := 0; i < len(kv); i += 2 {
		m[kv[i]] = kv[i+1]
	}
	return m
}

func mustParse(t *testing.T, props map[string]string) *Config {
	t.Helper()
	c, _, err := Parse(props)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// described is one entry of DescribeConfigs as a real 2.8.2 broker answered it.
type described struct {
	Name      string
	Value     *string
	Type      string
	Source    string
	ReadOnly  bool
	Sensitive bool
	Synonyms  []struct {
		Name   string
		Value  *string
		Source string
	}
}

func golden(t *testing.T) (all struct{ Topic, Broker []described }) {
	t.Helper()
	b, err := os.ReadFile("testdata/configs.json")
	if err == nil {
		err = json.Unmarshal(b, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Ref: DescribeConfigs of every key by Kafka 2.8.2, testdata/configs.json
func TestTablesHoldEveryKeyOfKafka(t *testing.T) {
	all := golden(t)
	if len(all.Broker) != len(Keys) || len(all.Topic) != len(topicKeys) {
		t.Errorf("%d broker and %d topic keys, Kafka has %d and %d", len(Keys), len(topicKeys), len(all.Broker), len(all.Topic))
	}
	for _, g := range all.Broker {
		k, ok := Keys[g.Name]
		if !ok {
			t.Errorf("no row for %s", g.Name)
			continue
		}
		if k.Type.String() != g.Type || k.Dynamic == g.ReadOnly || k.Sensitive() != g.Sensitive {
			t.Errorf("%s: %s, dynamic %v, sensitive %v; Kafka: %+v", g.Name, k.Type, k.Dynamic, k.Sensitive(), g)
		}
		if g.Name == "inter.broker.protocol.version" {
			continue // 2.8-IV1 there, 2.6 here: docs/divergence.md
		}
		want, has := null, false
		for _, s := range g.Synonyms {
			if s.Source == "DEFAULT_CONFIG" && s.Name == g.Name && s.Value != nil {
				want, has = *s.Value, true
			}
		}
		if def, ok := k.Default(); ok != has || def != want {
			t.Errorf("%s: default %q, Kafka has %q", g.Name, def, want)
		}
		if _, err := k.parse(k.def); k.def != null && err != nil {
			t.Errorf("%s: its default does not parse: %v", g.Name, err)
		}
	}
	c := mustParse(t, with())
	for i, g := range all.Topic {
		k := topicKeys[i]
		if k.Name != g.Name || k.Type.String() != g.Type {
			t.Errorf("topic key %d is %s %s, Kafka has %s %s", i, k.Name, k.Type, g.Name, g.Type)
		}
		if g.Name == "retention.ms" {
			continue // the capture's topics all set it
		}
		if got := c.TopicValue(k, nil); g.Value == nil || got != *g.Value {
			t.Errorf("%s: effective value %q, Kafka says %+v", g.Name, got, g.Value)
		}
	}
}

// Ref: Kafka 2.8 config/server.properties, unchanged
func TestStockFileStarts(t *testing.T) {
	props, err := ReadProperties("testdata/kafka-2.8-server.properties")
	if err != nil {
		t.Fatal(err)
	}
	c, warnings, err := Parse(props)
	if err != nil {
		t.Fatal(err)
	}
	if len(warnings) != 0 {
		t.Errorf("warnings: %q", warnings)
	}
	if c.BrokerID != 0 || c.Logs.Dirs[0] != "/tmp/kafka-logs" || c.Zk.ConnectionTimeout != 18*time.Second || c.OffsetsTopic.ReplicationFactor != 1 || c.Group.InitialRebalanceDelay != 0 {
		t.Errorf("%+v", c)
	}
}

func TestDefaults(t *testing.T) {
	c := mustParse(t, with())
	if len(c.Listeners) != 1 || c.Listeners[0] != (Listener{"PLAINTEXT", "", 9092, "PLAINTEXT"}) {
		t.Errorf("listeners %v", c.Listeners)
	}
	if !slices.Equal(c.Listeners, c.AdvertisedListeners) || c.InterBrokerListener != "PLAINTEXT" {
		t.Errorf("advertised %v, inter-broker %s", c.AdvertisedListeners, c.InterBrokerListener)
	}
	if c.Replica.LagTimeMax != 30*time.Second || c.LogDefaults.RetentionMs != 604800000 || c.LogDefaults.MaxMessageBytes != 1048588 ||
		!c.LogDefaults.Delete || c.LogDefaults.Compact || c.Controller.BrokerID != 1 || c.Fetcher.BrokerID != 1 {
		t.Errorf("%+v", c)
	}
	if c.Logs.FlushCheckInterval <= 0 {
		t.Errorf("9223372036854775807 ms became %v", c.Logs.FlushCheckInterval)
	}
}

// Ref: Kafka 2.8 KafkaConfig.logRetentionTimeMillis, logRollTimeMillis
func TestUnitsPrecedence(t *testing.T) {
	for _, row := range []struct {
		rule string
		set  []string
		want int64
	}{
		{"hours alone", []string{"log.retention.hours", "2"}, 7200000},
		{"minutes win over hours", []string{"log.retention.hours", "2", "log.retention.minutes", "3"}, 180000},
		{"ms wins over minutes", []string{"log.retention.ms", "7", "log.retention.minutes", "3"}, 7},
		{"-1 ms is for ever", []string{"log.retention.ms", "-1"}, -1},
		{"any negative is for ever", []string{"log.retention.hours", "-5"}, -1},
	} {
		t.Run(row.rule, func(t *testing.T) {
			if got := mustParse(t, with(row.set...)).LogDefaults.RetentionMs; got != row.want {
				t.Errorf("got %d, want %d", got, row.want)
			}
		})
	}
}

func TestEveryFaultIsReported(t *testing.T) {
	_, _, err := Parse(map[string]string{
		"num.partitions": "0", "log.segment.bytes": "x", "log.roll.hours": "0", "auto.create.topics.enable": "yes",
		"security.inter.broker.protocol": "SASL_SSL", "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
		"inter.broker.protocol.version": "2.7", "listeners": "PLAINTEXT://:9092,PLAINTEXT://:9093,SSL://:9094,nonsense",
		"ssl.key.password": "geheim",
	})
	faults, ok := err.(Faults)
	if !ok {
		t.Fatalf("%v", err)
	}
	text := err.Error()
	for _, want := range []string{
		`num.partitions: "0": Value must be at least 1 (allowed: int, at least 1)`,
		`log.segment.bytes: "x": Not a number of type INT (allowed: int, at least 14)`,
		`log.roll.hours: "0": Value must be at least 1`,
		`auto.create.topics.enable: "yes": Expected value to be either true or false`,
		`security.inter.broker.protocol: SASL_SSL: refused`,
		`authorizer.class.name: refused: kz has no authorizer`,
		`inter.broker.protocol.version: "2.7": kz speaks only 2.6 or 2.6-IV0`,
		`zookeeper.connect: missing`,
		`a name of its own`, `would speak SSL`, `"nonsense"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("missing %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "geheim") {
		t.Error("a password is shown")
	}
	if len(faults) != 11 {
		t.Errorf("%d faults:\n%s", len(faults), text)
	}
}

// Each row breaks one promise or range; the key named is the one to blame.
func TestFaults(t *testing.T) {
	for _, row := range []struct {
		rule string
		set  []string
		key  string // "" accepted
	}{
		{"the level kz speaks", []string{"inter.broker.protocol.version", "2.6"}, ""},
		{"its full name", []string{"inter.broker.protocol.version", "2.6-IV0"}, ""},
		{"its bug fix releases", []string{"inter.broker.protocol.version", "2.6.3"}, ""},
		{"another level", []string{"inter.broker.protocol.version", "2.8"}, "inter.broker.protocol.version"},
		{"no version at all", []string{"inter.broker.protocol.version", "3.1"}, "inter.broker.protocol.version"},
		{"format 2", []string{"log.message.format.version", "0.11.0"}, ""},
		{"format 1", []string{"log.message.format.version", "0.10.2"}, "log.message.format.version"},
		{"format above the protocol", []string{"log.message.format.version", "2.7"}, "log.message.format.version"},
		{"a default written out is no refusal", []string{"zookeeper.set.acl", "false"}, ""},
		{"ACLs", []string{"zookeeper.set.acl", "true"}, "zookeeper.set.acl"},
		{"TLS to ZooKeeper", []string{"zookeeper.ssl.client.enable", "true"}, "zookeeper.ssl.client.enable"},
		{"a policy that would not run", []string{"create.topic.policy.class.name", "x.Y"}, "create.topic.policy.class.name"},
		{"KRaft", []string{"process.roles", "broker,controller"}, "process.roles"},
		{"control plane", []string{"control.plane.listener.name", "CONTROL"}, "control.plane.listener.name"},
		{"SASL for one listener", []string{"listener.name.external.sasl.enabled.mechanisms", "PLAIN"}, "listener.name.external.sasl.enabled.mechanisms"},
		{"id above the reserved ones", []string{"broker.id", "1001"}, "broker.id"},
		{"id above, no generation", []string{"broker.id", "1001", "broker.id.generation.enable", "false"}, ""},
		{"no id, no generation", []string{"broker.id", "-1", "broker.id.generation.enable", "false"}, "broker.id"},
		{"id to be generated", []string{"broker.id", "-1"}, ""},
		{"two listeners", []string{"listeners", "IN://:9092,OUT://h:9093", "listener.security.protocol.map", "IN:PLAINTEXT,OUT:PLAINTEXT", "inter.broker.listener.name", "IN"}, ""},
		{"unknown listener name", []string{"listeners", "IN://:9092"}, "listeners"},
		{"one port twice", []string{"listeners", "PLAINTEXT://:1,B://:1", "listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,B:PLAINTEXT"}, "listeners"},
		{"port too large", []string{"listeners", "PLAINTEXT://:65536"}, "listeners"},
		{"IPv6", []string{"listeners", "PLAINTEXT://[::1]:9092"}, ""},
		{"0.0.0.0 bound", []string{"listeners", "PLAINTEXT://0.0.0.0:9092", "advertised.listeners", "PLAINTEXT://h:9092"}, ""},
		{"0.0.0.0 advertised", []string{"listeners", "PLAINTEXT://0.0.0.0:9092"}, "advertised.listeners"},
		{"advertised but not bound", []string{"advertised.listeners", "PLAINTEXT://h:1,B://h:2", "listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,B:PLAINTEXT"}, "advertised.listeners"},
		{"inter-broker listener not advertised", []string{"inter.broker.listener.name", "B", "listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,B:PLAINTEXT"}, "inter.broker.listener.name"},
		{"both ways of naming it", []string{"inter.broker.listener.name", "PLAINTEXT", "security.inter.broker.protocol", "PLAINTEXT"}, "inter.broker.listener.name"},
		{"fetch waits longer than the lag", []string{"replica.lag.time.max.ms", "400"}, "replica.fetch.wait.max.ms"},
		{"fetch waits longer than its socket", []string{"replica.socket.timeout.ms", "400"}, "replica.socket.timeout.ms"},
		{"retention of 0", []string{"log.retention.ms", "0"}, "log.retention.ms"},
		{"one directory twice", []string{"log.dirs", "/a,/b,/a"}, "log.dirs"},
		{"no directory", []string{"log.dirs", " , "}, "log.dirs"},
		{"a codec nobody knows", []string{"compression.type", "brotli"}, "compression.type"},
		{"connections per IP", []string{"max.connections.per.ip.overrides", "127.0.0.1:5,::1:7"}, ""},
		{"connections per IP, no count", []string{"max.connections.per.ip.overrides", "127.0.0.1"}, "max.connections.per.ip.overrides"},
	} {
		t.Run(row.rule, func(t *testing.T) {
			_, _, err := Parse(with(row.set...))
			faults, _ := err.(Faults)
			switch {
			case row.key == "" && err != nil:
				t.Error(err)
			case row.key != "" && (len(faults) != 1 || faults[0].Key != row.key):
				t.Errorf("want one fault of %s, got %v", row.key, err)
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	_, warnings, err := Parse(with("log.retention.hour", "1", "metrics.num.samples", "3", "log.cleaner.threads", "2", "zzzzzz", "1", "node.id", "4"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"unknown key log.retention.hour, did you mean log.retention.hours?",
		"unknown key zzzzzz",
		"without effect, kz does not have what they steer yet: log.cleaner.threads, metrics.num.samples",
	}
	if !slices.Equal(warnings, want) {
		t.Errorf("got %q\nwant %q", warnings, want)
	}
}

func TestWithDynamic(t *testing.T) {
	c := mustParse(t, with("log.retention.hours", "1", "min.insync.replicas", "1"))
	next, err := c.WithDynamic(map[string]string{"min.insync.replicas": "2", "log.retention.ms": "5", "num.partitions": "9"},
		map[string]string{"min.insync.replicas": "3"})
	if err != nil {
		t.Fatal(err)
	}
	if next.LogDefaults.MinInsyncReplicas != 3 || next.LogDefaults.RetentionMs != 5 || next.NumPartitions != 1 {
		t.Errorf("%+v", next.LogDefaults)
	}
	if _, set := next.Static("log.retention.ms"); set || c.LogDefaults.MinInsyncReplicas != 1 {
		t.Error("the file's keys changed")
	}
	if _, err := c.WithDynamic(nil, map[string]string{"min.insync.replicas": "0"}); err == nil {
		t.Error("a value out of range was taken")
	}
}
