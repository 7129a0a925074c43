package admin

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"strings"
	"sync"

	"github.com/rs/zerolog"

	"kz/broker/commitlog"
	"kz/broker/config"
	"kz/internal/topic"
	"kz/internal/zk"
	"kz/zkpaths"
)

// Appliers are the rooms that hear of changed configs.
type Appliers struct {
	SetDefaults           func(commitlog.Config)         // commitlog.Manager: logs of topics without overrides
	UpdateTopicConfig     func(string, commitlog.Config) // replica.Manager: logs of one topic
	EnableUncleanElection func(topic string)             // the controller; "" = the broker's default
}

// Configs is the configs as they are now: server.properties, what /config/brokers lays
// over it, and the overrides of topics. Mirrors DynamicBrokerConfig, TopicConfigHandler
// and the reading side of ZkConfigRepository.
type Configs struct {
	store Store
	apply Appliers
	log   zerolog.Logger

	// mu guards all below. Nothing is called under it but functions of package config:
	// ZooKeeper is read, and the appliers are called, without it.
	mu         sync.Mutex
	static     *config.Config // as started
	current    *config.Config // with the dynamic keys
	byDefault  map[string]string
	perBroker  map[string]string
	topics     map[string]map[string]string // overrides read so far
	generation map[string]int               // goes up when a topic is forgotten, so that an older read is not kept
}

// NewConfigs starts from server.properties. The appliers are handed in by SetAppliers,
// because they are made from this config.
func NewConfigs(cfg *config.Config, store Store, log zerolog.Logger) *Configs {
	return &Configs{store: store, log: log, static: cfg, current: cfg,
		byDefault: map[string]string{}, perBroker: map[string]string{},
		topics: map[string]map[string]string{}, generation: map[string]int{}}
}

// SetAppliers says who hears of changes; before Start of Changes.
func (c *Configs) SetAppliers(a Appliers) { c.apply = a }

// Current is server.properties with the dynamic keys laid over it.
func (c *Configs) Current() *config.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current
}

// LoadBroker reads /config/brokers/<default> and /config/brokers/<id>, applying
// nothing: call it once the broker has its id and before the rooms are made from
// Current. It also reads the overrides of every topic, in one batch, so that opening
// thousands of logs asks ZooKeeper nothing. Mirrors DynamicBrokerConfig.initialize and
// LogManager.fetchTopicConfigOverrides.
func (c *Configs) LoadBroker(ctx context.Context) error {
	for _, name := range []string{zkpaths.EntityDefault, c.brokerName()} {
		if err := c.readBroker(ctx, name); err != nil {
			return err
		}
	}
	if c.Current().LogDefaults.Compact {
		c.warnCompact()
	}
	return c.loadTopics(ctx)
}

// warnCompact says what log.cleanup.policy=compact does not do.
func (c *Configs) warnCompact() {
	c.log.Warn().Str("log.cleanup.policy", "compact").Msg("log compaction is without effect: kz has none yet, every record of topics without a cleanup.policy of their own stays")
}

// loadTopics reads all of /config/topics.
func (c *Configs) loadTopics(ctx context.Context) error {
	names, err := c.store.Children(ctx, zkpaths.EntityType(zkpaths.EntityTopics), false)
	if errors.Is(err, zk.NoNode) || len(names) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	ops := make([]zk.Op, len(names))
	for i, name := range names {
		ops[i] = zk.GetOp(zkpaths.TopicConfig(name))
	}
	results := c.store.Do(ctx, ops...)
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, r := range results {
		if errors.Is(r.Err, zk.NoNode) {
			continue // deleted since
		}
		if r.Err != nil {
			return r.Err
		}
		overrides, fault := zkpaths.DecodeEntityConfig(r.Data)
		c.learned(names[i], overrides, fault)
	}
	return nil
}

func (c *Configs) brokerName() string { return strconv.Itoa(int(c.static.BrokerID)) }

// readBroker reads one entity of /config/brokers and works out the new current config.
// What does not fit is logged and leaves the config as it was, as in Kafka.
func (c *Configs) readBroker(ctx context.Context, name string) error {
	props, fault, err := readConfig(ctx, c.store, zkpaths.EntityConfig(zkpaths.EntityBrokers, name))
	if err != nil {
		return err
	}
	if fault != nil {
		c.log.Error().Err(fault).Msg("dynamic broker config cannot be read, what can be is used")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	byDefault, perBroker := c.byDefault, c.perBroker
	if name == zkpaths.EntityDefault {
		byDefault = props
	} else {
		perBroker = props
	}
	next, err := c.static.WithDynamic(byDefault, perBroker)
	if err != nil {
		c.log.Error().Err(err).Str("entity", "brokers/"+name).Msg("dynamic broker config does not fit and is ignored")
		return nil
	}
	c.byDefault, c.perBroker, c.current = byDefault, perBroker, next
	return nil
}

// applyBroker reads one entity of /config/brokers and tells the rooms what changed.
func (c *Configs) applyBroker(ctx context.Context, name string) error {
	before := c.Current()
	if err := c.readBroker(ctx, name); err != nil {
		return err
	}
	after := c.Current()
	if before.LogDefaults == after.LogDefaults {
		return nil
	}
	if after.LogDefaults.Compact && !before.LogDefaults.Compact {
		c.warnCompact()
	}
	c.apply.SetDefaults(after.LogDefaults)
	for name, overrides := range c.knownTopics() {
		if len(overrides) > 0 {
			c.apply.UpdateTopicConfig(name, withOverrides(after, overrides))
		}
	}
	if after.LogDefaults.UncleanLeaderElection && !before.LogDefaults.UncleanLeaderElection {
		c.apply.EnableUncleanElection("")
	}
	return nil
}

func (c *Configs) knownTopics() map[string]map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.topics)
}

// TopicConfig is a topic's config now, for a log that is opened. It reads ZooKeeper the
// first time and keeps what it read until a notification or Forget. When ZooKeeper
// cannot be read the defaults are given, and the next call asks again.
func (c *Configs) TopicConfig(name string) commitlog.Config {
	overrides, err := c.Overrides(context.Background(), name)
	if err != nil {
		c.log.Error().Err(err).Str("topic", name).Msg("topic config not read, defaults are used")
	}
	return withOverrides(c.Current(), overrides)
}

// withOverrides lays a topic's overrides over the broker's config. Those that do not fit
// count as absent; learned has said so.
func withOverrides(cfg *config.Config, overrides map[string]string) commitlog.Config {
	out, _ := cfg.TopicConfig(overrides)
	return out
}

// Overrides are a topic's overrides. Read only.
func (c *Configs) Overrides(ctx context.Context, name string) (map[string]string, error) {
	c.mu.Lock()
	known, ok := c.topics[name]
	generation := c.generation[name]
	c.mu.Unlock()
	if ok {
		return known, nil
	}
	read, fault, err := readConfig(ctx, c.store, zkpaths.TopicConfig(name))
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.generation[name] == generation {
		c.learned(name, read, fault)
	}
	return read, nil
}

// learned keeps what was read of a topic, with c.mu held, and says what of it has no
// effect: once, because TopicConfig is asked with each request. fault is what could not be
// read at all: it is kept as absent, which is better than a question to ZooKeeper each
// time. Brokers' own topics are compacted, too, but small, and nobody asked for it.
func (c *Configs) learned(name string, overrides map[string]string, fault error) {
	c.topics[name] = overrides
	if fault != nil {
		c.log.Error().Err(fault).Str("topic", name).Msg("topic config cannot be read, what can be is used")
	}
	if _, err := c.current.TopicConfig(overrides); err != nil {
		c.log.Error().Err(err).Str("topic", name).Msg("bad topic config, its default is used")
	}
	if policy := overrides["cleanup.policy"]; strings.Contains(policy, "compact") && !topic.IsInternal(name) {
		c.log.Warn().Str("topic", name).Str("cleanup.policy", policy).Msg("log compaction is without effect: kz has none yet, every record stays")
	}
}

// Forget drops what is known of a topic that was deleted: it may come again with
// another config, which nobody announces.
func (c *Configs) Forget(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.topics, name)
	c.generation[name]++
}

// applyTopic reads a topic's overrides again and tells the rooms. Mirrors
// TopicConfigHandler.processConfigChanges.
func (c *Configs) applyTopic(ctx context.Context, name string) error {
	c.Forget(name)
	overrides, err := c.Overrides(ctx, name)
	if err != nil {
		return err
	}
	cfg := withOverrides(c.Current(), overrides)
	c.apply.UpdateTopicConfig(name, cfg)
	if _, set := overrides["unclean.leader.election.enable"]; set && cfg.UncleanLeaderElection {
		c.apply.EnableUncleanElection(name)
	}
	return nil
}
