// Package config is server.properties: every key of Kafka 2.8 with type, default, range and meaning, and the topic keys. Mirrors KafkaConfig and LogConfig's definitions.
package config

import (
	"time"

	"kz/broker/commitlog"
)

// Config is a whole, validated server.properties. Fields are grouped by room; every key that kz serves has one.
type Config struct {
	BrokerID                 int32
	BrokerIDGenerationEnable bool
	ReservedBrokerMaxID      int32
	Rack                     string
	// ... (owner adds the rest: Listeners, AdvertisedListeners, ZooKeeper, Network, Replica, Fetcher, Controller, log Manager parts as plain fields)
	RequestTimeout time.Duration
	LogDefaults    commitlog.Config
}

// Problem is one fault of a config: key, what is wrong, the allowed range.
type Problem struct{ Key, Text string }

// Faults lists all problems at once; it is the error of Parse.
type Faults []Problem

func (f Faults) Error() string { panic("contract") }

// Parse builds a Config from properties (file first, then overrides). warnings: keys whose system kz does not have (one line naming them all), unknown keys with
// the nearest known one. Errors: Faults.
func Parse(props map[string]string) (cfg *Config, warnings []string, err error) { panic("contract") }

// ReadProperties reads a Java properties file.
func ReadProperties(path string) (map[string]string, error) { panic("contract") }

// TopicConfig applies a topic's overrides to the broker's defaults.
func (c *Config) TopicConfig(overrides map[string]string) (commitlog.Config, error) {
	panic("contract")
}

// ValidateTopicOverrides gives Kafka's INVALID_CONFIG with Kafka's message for the first bad key.
func ValidateTopicOverrides(overrides map[string]string) error { panic("contract") }
