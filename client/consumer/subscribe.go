package consumer

import (
	"errors"
	"regexp"
	"slices"

	"kz/client"
	"kz/internal/topic"
)

// Listener is told of partitions that come and go. Its functions run inside Poll (and
// Close), on the caller's goroutine, and may commit and seek; nil ones do nothing.
type Listener struct {
	// Assigned: these are new. Positions may be set with Seek before anything is read.
	Assigned func([]topic.Partition)
	// Revoked: these are about to go. They are still ours: the last moment to commit.
	Revoked func([]topic.Partition)
	// Lost: these are gone already, others may read them: a commit would fail. nil means Revoked.
	Lost func([]topic.Partition)
}

// Faults in the order of calls.
var (
	ErrNoGroup = errors.New("group.id is empty: there is no group to subscribe in or to commit for")
	ErrMixed   = errors.New("a consumer either subscribes or is assigned partitions: call Unsubscribe in between")
)

// subscription is what the consumer wants to read as a member of its group.
type subscription struct {
	active   bool
	topics   []string       // sorted; with a pattern, those that match
	pattern  *regexp.Regexp // nil: a list
	resolved bool           // metadata was compared with the pattern
	listener Listener
	joined   []string       // what the last JoinGroup said
	counts   map[string]int // partitions of each topic, as metadata last said
	dealt    map[string]int // the same, when we divided them as the group's leader; nil for a follower
}

// learn takes over metadata. It reports whether a subscribed topic is still missing.
func (s *subscription) learn(cl *client.Cluster, internal bool) (again bool) {
	if !s.active {
		return false
	}
	s.counts = map[string]int{}
	var matching []string
	for name, t := range cl.Topics {
		s.counts[name] = len(t.Partitions)
		if s.pattern != nil && s.pattern.MatchString(name) && (internal || !t.Internal) {
			matching = append(matching, name)
		}
	}
	if s.pattern != nil {
		slices.Sort(matching)
		s.topics, s.resolved = matching, true
		return false
	}
	return slices.ContainsFunc(s.topics, func(t string) bool { return s.counts[t] == 0 && !cl.Topics[t].Hopeless() })
}

// stale says whether the group has to be joined again: we want other topics than we
// said, or we divided other partitions than there are.
// Mirrors ConsumerCoordinator.rejoinNeededOrPending.
func (s *subscription) stale() bool {
	if !slices.Equal(s.topics, s.joined) {
		return true
	}
	for name, n := range s.dealt {
		if now, asked := s.counts[name]; asked && now != n {
			return true
		}
	}
	return false
}

// Subscribe joins the group with these topics; it replaces what was subscribed before.
// Nothing happens until Poll.
func (c *Consumer) Subscribe(topics []string, l Listener) error {
	topics = slices.Compact(slices.Sorted(slices.Values(topics)))
	if len(topics) == 0 {
		return c.Unsubscribe()
	}
	for _, t := range topics {
		if err := topic.ValidateName(t); err != nil {
			return err
		}
	}
	return c.subscribe(subscription{topics: topics, resolved: true, listener: l})
}

// SubscribePattern joins with whatever topics match, now or later: a new topic is noticed
// within metadata.max.age.ms.
func (c *Consumer) SubscribePattern(pattern *regexp.Regexp, l Listener) error {
	anchored := regexp.MustCompile("^(?:" + pattern.String() + ")$") // Java's matches() is about the whole name
	return c.subscribe(subscription{pattern: anchored, listener: l})
}

func (c *Consumer) subscribe(s subscription) error {
	if c.group == nil {
		return ErrNoGroup
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.sub.active && len(c.parts) > 0 {
		return ErrMixed
	}
	s.active, s.joined, s.counts, s.dealt = true, c.sub.joined, nil, c.sub.dealt
	c.sub = s
	c.lookForLeaders()
	c.announceLocked()
	return nil
}

// Subscription lists the topics that are subscribed to; with a pattern, those that match.
func (c *Consumer) Subscription() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.sub.topics)
}

// Assign reads exactly these partitions, without being a member of the group: each from
// an offset, or from Earliest, Latest or Committed. One that was read before goes on
// where it is.
func (c *Consumer) Assign(parts []topic.Partition, from int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sub.active {
		return ErrMixed
	}
	if from == Committed && c.group == nil {
		from = c.cfg.reset()
	}
	c.replaceLocked(parts, from)
	return nil
}

// Unsubscribe leaves the group, or drops what was assigned.
func (c *Consumer) Unsubscribe() error {
	leave, err := c.enter()
	if err != nil {
		return err
	}
	defer leave()
	if c.group != nil {
		c.group.retire(c.ctx)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sub = subscription{}
	c.replaceLocked(nil, Committed)
	return nil
}

// tell runs one of the Listener's functions, with no lock held.
func (c *Consumer) tell(f func([]topic.Partition), parts []topic.Partition) {
	if f == nil || len(parts) == 0 {
		return
	}
	c.listens.Store(true)
	defer c.listens.Store(false)
	f(parts)
}
