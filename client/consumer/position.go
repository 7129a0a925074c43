package consumer

import (
	"maps"
	"slices"

	"kz/client"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// Offsets that stand for a place that only the leader, or the group, knows.
const (
	Latest    int64 = -1
	Earliest  int64 = -2
	Committed int64 = -3 // where the group last committed; where it never did, auto.offset.reset
)

// position is where one partition is read. It has two marks:
//
//	consumed ........ offset
//	    | the caller was given everything before it; commits say this
//	                  | the fetcher asks for this next; the stretch between is in our hands
//
// Invariant: 0 <= consumed <= offset, once both are known.
type position struct {
	part        topic.Partition
	leader      int32 // client.NoLeader: the keeper looks for one
	leaderEpoch int32 // of that leader; never goes back; -1 unknown
	offset      int64 // or Latest, Earliest, Committed until somebody was asked
	consumed    int64 // -1 while offset is no number yet
	epoch       int32 // leader epoch of the record before consumed, -1 unknown
	version     int   // counts the jumps: what was asked for before a jump is void
	check       bool  // the leader changed: is what we read still there? (see validate.go)
	paused      bool
	err         error // fatal for the partition; Poll reports it once
	reported    bool
}

// jump moves the position to a place that does not follow from what was read.
func (p *position) jump(offset int64, epoch int32) {
	p.version++
	p.offset, p.epoch, p.err, p.reported = offset, epoch, nil, false
	p.consumed = max(offset, -1)
	p.check = epoch >= 0
}

// known says whether the offset is a number yet.
func (p *position) known() bool { return p.offset >= 0 }

// asks says whether a Fetch may ask for it: it is known from where, and that the leader has what came before.
func (p *position) asks() bool { return p.known() && !p.check }

// fetchable says whether its leader may be asked about it.
func (p *position) fetchable() bool {
	return p.err == nil && !p.paused && p.offset != Committed && p.leader != client.NoLeader
}

// announce wakes whoever waits for a change: Poll, Position. c.mu is held.
func (c *Consumer) announceLocked() {
	close(c.news)
	c.news = make(chan struct{})
}

func (c *Consumer) announce() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.announceLocked()
}

// pokeLocked tells the partition's fetcher that there may be something to ask.
func (c *Consumer) pokeLocked(p *position) {
	if p.leader == client.NoLeader {
		c.lookForLeaders()
		return
	}
	c.fetcherLocked(p.leader).poke()
}

// replaceLocked makes parts what is read: who stays keeps its position, who is new
// starts at from, in the same version space so that old answers stay void.
func (c *Consumer) replaceLocked(parts []topic.Partition, from int64) {
	old := c.parts
	c.parts = map[topic.Partition]*position{}
	for _, p := range parts {
		if pos := old[p]; pos != nil {
			c.parts[p] = pos
			continue
		}
		c.lives++
		pos := &position{part: p, leader: client.NoLeader, leaderEpoch: -1, offset: from, consumed: max(from, -1), epoch: -1, version: c.lives << 20}
		c.parts[p] = pos
		if c.cluster != nil { // a member need not ask again for what it joined with
			c.followLocked(pos, c.cluster)
		}
	}
	c.lookForLeaders()
	c.announceLocked()
}

// Assignment lists the partitions that are read at the moment, sorted.
func (c *Consumer) Assignment() []topic.Partition {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.assignmentLocked()
}

func (c *Consumer) assignmentLocked() []topic.Partition {
	return slices.SortedFunc(maps.Keys(c.parts), topic.Partition.Compare)
}

// change applies f to some partitions; one that is not assigned is an error and
// nothing is changed.
func (c *Consumer) change(parts []topic.Partition, f func(*position)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range parts {
		if c.parts[p] == nil {
			return notAssigned(p)
		}
	}
	for _, p := range parts {
		f(c.parts[p])
		c.pokeLocked(c.parts[p])
	}
	c.announceLocked()
	return nil
}

func notAssigned(p topic.Partition) error {
	return kafkaerr.New(kafkaerr.UnknownTopicOrPartition, "partition "+p.String()+" is not assigned to this consumer")
}

// Seek makes offset the next one to read. Nothing is asked of the broker.
func (c *Consumer) Seek(p topic.Partition, offset int64) error {
	return c.change([]topic.Partition{p}, func(pos *position) { pos.jump(offset, -1) })
}

// SeekToBeginning goes to the first record there is, looked up when it is read next.
// No partitions means all that are assigned.
func (c *Consumer) SeekToBeginning(parts ...topic.Partition) error { return c.seekAll(parts, Earliest) }

// SeekToEnd goes behind the last record; see SeekToBeginning.
func (c *Consumer) SeekToEnd(parts ...topic.Partition) error { return c.seekAll(parts, Latest) }

func (c *Consumer) seekAll(parts []topic.Partition, to int64) error {
	if len(parts) == 0 {
		parts = c.Assignment()
	}
	return c.change(parts, func(pos *position) { pos.jump(to, -1) })
}

// Pause stops reading the partitions; they stay assigned. What was fetched ahead is
// thrown away and fetched again later.
func (c *Consumer) Pause(parts ...topic.Partition) error {
	return c.change(parts, func(pos *position) {
		if pos.paused = true; pos.known() {
			pos.version++
			pos.offset = pos.consumed
		}
	})
}

// Resume goes on reading.
func (c *Consumer) Resume(parts ...topic.Partition) error {
	return c.change(parts, func(pos *position) { pos.paused = false })
}

// Paused lists the paused partitions, sorted.
func (c *Consumer) Paused() (out []topic.Partition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.assignmentLocked() {
		if c.parts[p].paused {
			out = append(out, p)
		}
	}
	return out
}
