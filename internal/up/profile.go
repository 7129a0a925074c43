package up

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Setting is one value of server.properties in a profile, beside Kafka's.
type Setting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	Kafka string `json:"kafka"` // Kafka 2.8's default
}

// A Profile is what differs from Kafka's defaults in every broker.
type Profile struct {
	Name    string    `json:"name"`
	Changed []Setting `json:"changed"`
	tick    string    // of the embedded ZooKeeper: how exact session timeouts are
}

var profiles = []Profile{
	// Class shortens Kafka's waits so that a lesson fits an hour. The lag stays above the
	// session timeout, so that a dead follower is noticed by the controller first; that
	// relation is Kafka's, too (KIP-537).
	{Name: "class", tick: "200ms", Changed: []Setting{
		{"zookeeper.session.timeout.ms", "2000", "18000"},
		{"replica.lag.time.max.ms", "3000", "30000"},
		{"controlled.shutdown.retry.backoff.ms", "500", "5000"}, // the last broker finds nobody to hand over to
		{"group.initial.rebalance.delay.ms", "500", "3000"},
		{"offsets.topic.num.partitions", "4", "50"}, // few enough to look at
	}},
	// Faithful changes no wait.
	{Name: "faithful", tick: "2s"},
}

// layout is what every profile sets, because a cluster of several brokers is for keeping
// several copies: not a wait, but what new topics look like.
func layout(brokers int) []Setting {
	copies := min(brokers, 3)
	return []Setting{
		{"default.replication.factor", fmt.Sprint(copies), "1"},
		{"min.insync.replicas", fmt.Sprint(max(1, copies-1)), "1"},
	}
}

// zooTick is ZooKeeper's own default of tickTime.
const zooTick = 2 * time.Second

// settings are what every broker is told: the layout and the profile's waits. With fewer
// than three brokers a profile that changes things also gives committed offsets fewer
// copies; Kafka's three cannot be made, and then there are no groups.
func (c *Cluster) settings() []Setting {
	all := slices.Concat(c.cfg.Profile.Changed, layout(len(c.cfg.Ports)))
	if n := len(c.cfg.Ports); len(c.cfg.Profile.Changed) > 0 && n < 3 {
		all = append(all, Setting{"offsets.topic.replication.factor", fmt.Sprint(n), "3"})
	}
	return all
}

// changed is all that differs from Kafka: the settings, and how often our ZooKeeper looks
// at its sessions.
func (c *Cluster) changed() []Setting {
	all := slices.DeleteFunc(c.settings(), func(s Setting) bool { return s.Value == s.Kafka })
	if tick, err := time.ParseDuration(c.cfg.Profile.tick); err == nil && tick != zooTick && c.cfg.ZooKeeper == "" {
		all = append(all, Setting{"tickTime", fmt.Sprint(tick.Milliseconds()), fmt.Sprint(zooTick.Milliseconds())})
	}
	return all
}

// ProfileNamed finds a profile.
func ProfileNamed(name string) (Profile, error) {
	var names []string
	for _, p := range profiles {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return Profile{}, fmt.Errorf("no profile %q; there are %s", name, strings.Join(names, " and "))
}
