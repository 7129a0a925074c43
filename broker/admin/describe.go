package admin

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"kz/broker/config"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
	"kz/zkpaths"
)

// Source says where a value comes from; the numbers are those of DescribeConfigs.
type Source int8

// The sources.
const (
	SourceTopic                Source = 1
	SourceDynamicBroker        Source = 2
	SourceDynamicDefaultBroker Source = 3
	SourceStaticBroker         Source = 4
	SourceDefault              Source = 5
)

// Entry is one key as DescribeConfigs tells it.
type Entry struct {
	Name      string
	Value     *string // nil: none, or sensitive
	Source    Source
	ReadOnly  bool
	Sensitive bool
	Synonyms  []Synonym // in order of precedence
	Type      config.Type
	Doc       string
}

// Synonym is one place the value could come from.
type Synonym struct {
	Name   string
	Value  *string
	Source Source
}

// DescribeTopic tells every key of a topic, by name. known says whether the topic exists.
// Mirrors ConfigHelper.describeConfigs.
func (c *Configs) DescribeTopic(ctx context.Context, name string, known bool) ([]Entry, error) {
	if err := topic.ValidateName(name); err != nil {
		return nil, err
	}
	if !known {
		return nil, kafkaerr.Wrap(kafkaerr.UnknownTopicOrPartition, "describe configs of "+name, nil)
	}
	// Read anew, as Kafka does: what was stored a moment ago shall be seen here.
	overrides, err := NewTopics(c.store).Config(ctx, name)
	if err != nil {
		return nil, err
	}
	for _, k := range slices.Sorted(maps.Keys(overrides)) {
		if key, ok := config.LookupTopicKey(k); ok {
			if err := key.Check(overrides[k]); err != nil {
				return nil, kafkaerr.New(kafkaerr.UnknownServerError, fmt.Sprintf("%s: %v", zkpaths.TopicConfig(name), err))
			}
		}
	}
	return c.describeOverrides(overrides), nil
}

// describeOverrides tells every topic key with these overrides.
func (c *Configs) describeOverrides(overrides map[string]string) []Entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]Entry, 0, len(config.TopicKeys())+1)
	for _, k := range config.TopicKeys() {
		value := c.current.TopicValue(k, overrides)
		e := Entry{Name: k.Name, Value: &value, Source: SourceDefault, Type: k.Type, Doc: k.Doc}
		if k.BrokerKey != "" {
			e.Synonyms = c.brokerSynonyms(k.BrokerKey)
		}
		if _, set := overrides[k.Name]; set {
			e.Synonyms = slices.Insert(e.Synonyms, 0, Synonym{k.Name, &value, SourceTopic})
		}
		if len(e.Synonyms) > 0 {
			e.Source = e.Synonyms[0].Source
		}
		out = append(out, e)
	}
	for _, name := range slices.Sorted(maps.Keys(overrides)) { // keys of another version, found in the znode
		if _, ok := config.LookupTopicKey(name); !ok {
			out = append(out, Entry{Name: name, Source: SourceTopic, Sensitive: true, Synonyms: []Synonym{{name, nil, SourceTopic}}})
		}
	}
	return out
}

// DescribeBroker tells every key of this broker, or, for the empty name, the cluster's
// dynamic defaults.
func (c *Configs) DescribeBroker(name string) ([]Entry, error) {
	if name == "" {
		return c.describeDefaults(), nil
	}
	id, err := strconv.ParseInt(name, 10, 32)
	if err != nil {
		return nil, kafkaerr.New(kafkaerr.InvalidRequest, "Broker id must be an integer, but it is: "+name)
	}
	if int32(id) != c.static.BrokerID {
		return nil, kafkaerr.New(kafkaerr.InvalidRequest,
			fmt.Sprintf("Unexpected broker id, expected %d or empty string, but received %s", c.static.BrokerID, name))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	keys := map[string]bool{}
	for key := range config.Keys {
		keys[key] = true
	}
	for _, m := range []map[string]string{c.static.StaticKeys(), c.byDefault, c.perBroker} {
		for key := range m {
			keys[key] = true
		}
	}
	var out []Entry
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		out = append(out, c.brokerEntry(key, c.brokerSynonyms(key)))
	}
	return out, nil
}

func (c *Configs) describeDefaults() []Entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []Entry
	for _, key := range slices.Sorted(maps.Keys(c.byDefault)) {
		synonyms := slices.DeleteFunc(c.brokerSynonyms(key), func(s Synonym) bool { return s.Source != SourceDynamicDefaultBroker })
		e := c.brokerEntry(key, synonyms)
		if value := c.byDefault[key]; !e.Sensitive {
			e.Value = &value
		}
		out = append(out, e)
	}
	return out
}

// brokerEntry is one broker key. A key nobody knows is shown as sensitive: it could be anything.
func (c *Configs) brokerEntry(key string, synonyms []Synonym) Entry {
	k, known := config.Lookup(key)
	e := Entry{Name: key, Source: SourceDefault, ReadOnly: !k.Dynamic, Sensitive: !known || k.Sensitive(), Synonyms: synonyms, Type: k.Type, Doc: k.Doc}
	if len(synonyms) > 0 {
		e.Source = synonyms[0].Source
	}
	if e.Sensitive {
		return e
	}
	if value, ok := c.current.Value(key); ok {
		e.Value = &value
	}
	return e
}

// brokerSynonyms lists every place a broker key's value could come from, the winner
// first, from the first that has the key's own name on. c.mu is held.
func (c *Configs) brokerSynonyms(key string) []Synonym {
	k, known := config.Lookup(key)
	hidden := !known || k.Sensitive()
	var out []Synonym
	add := func(source Source, lookup func(string) (string, bool)) {
		for _, name := range config.Synonyms(key) {
			if value, ok := lookup(name); ok {
				s := Synonym{Name: name, Source: source}
				if !hidden {
					s.Value = &value
				}
				out = append(out, s)
			}
		}
	}
	in := func(m map[string]string) func(string) (string, bool) {
		return func(name string) (string, bool) { v, ok := m[name]; return v, ok }
	}
	add(SourceDynamicBroker, in(c.perBroker))
	add(SourceDynamicDefaultBroker, in(c.byDefault))
	add(SourceStaticBroker, c.static.Static)
	add(SourceDefault, func(name string) (string, bool) {
		if k, ok := config.Lookup(name); ok {
			return k.Default()
		}
		return "", false
	})
	first := slices.IndexFunc(out, func(s Synonym) bool { return s.Name == key })
	if first < 0 {
		return nil
	}
	return out[first:]
}
