package zkconsumer

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"kz/client"
	"kz/client/consumer"
	"kz/internal/zk"
)

// Config has the keys of Kafka 0.8.2 and their defaults; the comments name them.
type Config struct {
	ZooKeeper        zk.Config        // zookeeper.connect, zookeeper.session.timeout.ms (6 s), …
	Client           client.Config    // of its addresses none is used: brokers are found in ZooKeeper
	Group            string           // group.id, required
	ID               string           // consumer.id; "" = <group>_<host>-<ms>-<random>
	Topics           []string         // by name; or
	WhiteList        string           // a regular expression that topics match; or
	BlackList        string           // one that they do not
	InternalTopics   bool             // exclude.internal.topics=false: an expression may match them
	Streams          int              // per topic, 1: the member counts as often in the rule
	Smallest         bool             // auto.offset.reset=smallest; else largest
	AutoCommit       bool             // auto.commit.enable, true
	AutoCommitEvery  time.Duration    // auto.commit.interval.ms, 60 s
	RebalanceRetries int              // rebalance.max.retries, 4
	RebalanceBackoff time.Duration    // rebalance.backoff.ms, 2 s
	Storage          consumer.Storage // offsets.storage, zookeeper; dual = kafka with dual.commit.enabled
}

// DefaultConfig has the defaults of 0.8.2.
func DefaultConfig(z zk.Config, c client.Config, group string) Config {
	if z.SessionTimeout == 0 {
		z.SessionTimeout = 6 * time.Second
	}
	if z.ConnectionTimeout == 0 {
		z.ConnectionTimeout = z.SessionTimeout
	}
	return Config{ZooKeeper: z, Client: c, Group: group, Streams: 1, AutoCommit: true, AutoCommitEvery: time.Minute,
		RebalanceRetries: 4, RebalanceBackoff: 2 * time.Second, Storage: consumer.StoreZooKeeper}
}

func (c *Config) registration(now time.Time) registration {
	r := registration{Version: 1, Subscription: map[string]int{}, Pattern: static, Timestamp: millis(now)}
	switch {
	case c.WhiteList != "":
		r.Pattern, r.Subscription[c.WhiteList] = whiteList, c.Streams
	case c.BlackList != "":
		r.Pattern, r.Subscription[c.BlackList] = blackList, c.Streams
	}
	for _, t := range c.Topics {
		r.Subscription[t] = c.Streams
	}
	return r
}

// Check says what of the config cannot be used. New asks it first.
func (c *Config) Check() error {
	ways := 0
	for _, given := range []bool{len(c.Topics) > 0, c.WhiteList != "", c.BlackList != ""} {
		if given {
			ways++
		}
	}
	switch {
	case c.Group == "":
		return errors.New("group.id is required: it names the znodes")
	case strings.Contains(c.Group, "/") || c.Group == "." || c.Group == "..":
		return fmt.Errorf("group.id=%s: it names a znode, so it cannot hold a slash or be a dot or two", c.Group)
	case ways != 1:
		return errors.New("exactly one of topics, a white list and a black list is required")
	case c.Streams < 1:
		return errors.New("a topic needs one stream at least")
	}
	_, err := c.registration(time.Time{}).streams(nil, false) // does the expression compile?
	return err
}
