package consumer

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// step is Poll's part of the protocol: pick up what an attempt led to, begin one when
// it is time, and tell the Listener in between. It never waits for other members.
func (g *membership) step() error {
	for {
		g.c.mu.Lock()
		if !g.c.sub.active {
			g.c.mu.Unlock()
			return nil
		}
		if g.fenced != nil {
			defer g.c.mu.Unlock()
			return g.fenced
		}
		if g.attempt != nil {
			select {
			case o := <-g.attempt:
				g.attempt = nil
				g.c.mu.Unlock()
				if err := g.complete(o); err != nil {
					return err
				}
				continue
			default:
				g.c.mu.Unlock()
				return nil
			}
		}
		if !g.c.sub.resolved { // the keeper is comparing the pattern with what there is
			g.c.lookForLeaders()
			g.c.mu.Unlock()
			return nil
		}
		if g.state == stable && !g.rejoin && !g.c.sub.stale() {
			g.c.mu.Unlock()
			return nil
		}
		g.c.mu.Unlock()
		if err := g.prepare(); err != nil {
			return err
		}
		g.c.mu.Lock()
		if g.prepared { // else we were put out while we prepared: once more
			g.startLocked()
		}
		g.c.mu.Unlock()
	}
}

// leaving says which of the partitions go before we join: all that are lost; all, if
// we join eagerly; else only what is no longer subscribed to.
func leaving(owned []topic.Partition, lost, cooperative bool, topics []string) []topic.Partition {
	if lost || !cooperative {
		return owned
	}
	var out []topic.Partition
	for _, p := range owned {
		if !slices.Contains(topics, p.Topic) {
			out = append(out, p)
		}
	}
	return out
}

// prepare commits what was read and gives up what has to be given up, once per
// rebalance. Close does not wait for that commit: it makes it itself.
// Mirrors ConsumerCoordinator.onJoinPrepare.
func (g *membership) prepare() error {
	g.c.mu.Lock()
	if g.prepared {
		g.c.mu.Unlock()
		return nil
	}
	g.prepared = true
	lost := g.lost
	g.lost = false
	owned := g.c.assignmentLocked()
	going := leaving(owned, lost, g.c.cfg.cooperative(), g.c.sub.topics)
	l := g.c.sub.listener
	g.remembered = owned
	commit := g.c.cfg.AutoCommit && !lost && g.state == stable
	g.c.mu.Unlock()
	if commit {
		ctx, cancel := context.WithTimeout(g.c.open, g.c.cfg.MaxPollInterval)
		_ = g.commit(ctx, g.c.Consumed()) // what could not be committed is read again
		cancel()
		if g.c.open.Err() != nil {
			return ErrClosed
		}
	}
	g.c.part(l, going, lost)
	return nil
}

// part tells the Listener that partitions go, and lets them go.
func (c *Consumer) part(l Listener, parts []topic.Partition, lost bool) {
	if len(parts) == 0 {
		return
	}
	tell := l.Revoked
	if lost && l.Lost != nil {
		tell = l.Lost
	}
	c.tell(tell, parts)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.replaceLocked(without(c.assignmentLocked(), parts), Committed)
}

// without is what of a is not in b.
func without(a, b []topic.Partition) []topic.Partition {
	return slices.DeleteFunc(slices.Clone(a), func(p topic.Partition) bool { return slices.Contains(b, p) })
}

// complete takes over an attempt's outcome. Mirrors ConsumerCoordinator.onJoinComplete.
func (g *membership) complete(o outcome) error {
	if o.err != nil {
		return g.failed(o.err)
	}
	g.c.mu.Lock()
	if g.generation != o.generation || g.state != stable {
		g.c.mu.Unlock()
		return nil // put out again already: step sees it
	}
	g.prepared = false
	owned := g.c.assignmentLocked()
	l := g.c.sub.listener
	gone, new := without(owned, o.parts), without(o.parts, owned)
	if len(gone) > 0 {
		g.rejoin = true // cooperative: what we let go is somebody's in the next round
	}
	g.c.mu.Unlock()
	g.c.part(l, gone, false)
	g.c.mu.Lock()
	g.c.replaceLocked(o.parts, Committed)
	g.c.mu.Unlock()
	if l.Assigned != nil {
		g.c.tell(l.Assigned, new)
	}
	return nil
}

// failed decides what an attempt's error means. A fatal one is the caller's; a Poll
// after it tries again.
func (g *membership) failed(err error) error {
	code := kafkaerr.CodeOf(err)
	switch q := consequenceOf(code); q {
	case startOver:
		g.c.mu.Lock()
		defer g.c.mu.Unlock()
		g.putOutLocked()
		return nil
	case lookElsewhere:
		g.forget(-1)
		return nil
	case giveUp:
		g.judge(code, -1)
		return err
	}
	return nil
}

// retire gives everything up and leaves: for Unsubscribe and Close. A static member
// does not say farewell: it may be back before its session ends, and find its place.
func (g *membership) retire(ctx context.Context) {
	g.c.mu.Lock()
	if g.stopAttempt != nil {
		g.stopAttempt()
	}
	g.attempt = nil
	active, lost, l := g.c.sub.active, g.lost, g.c.sub.listener
	owned := g.c.assignmentLocked()
	commit := g.c.cfg.AutoCommit && !lost && (!active || g.state == stable)
	g.c.mu.Unlock()
	if commit {
		_ = g.commit(ctx, g.c.Consumed())
	}
	if active {
		g.c.part(l, owned, lost)
	}
	g.leave(ctx)
}

// leave says farewell, if we are a dynamic member, and forgets who we were.
func (g *membership) leave(ctx context.Context) {
	g.c.mu.Lock()
	id, known := g.memberID, g.coordinator >= 0
	g.enterLocked(unjoined)
	g.generation, g.memberID, g.prepared, g.rejoin = -1, "", false, false
	g.c.mu.Unlock()
	if id == "" || !known || g.c.cfg.InstanceID != "" {
		return
	}
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group, req.MemberID = g.c.cfg.Group, id
	m := kmsg.NewLeaveGroupRequestMember()
	m.MemberID = id
	req.Members = append(req.Members, m)
	_, _ = g.ask(ctx, g.client, req, g.c.cfg.Client.RequestTimeout) // the session ends without it, too
}

// farewell is retire for Close: it also runs the callbacks that are still owed.
func (g *membership) farewell(ctx context.Context) error {
	g.retire(ctx)
	err := g.drainCommits(ctx)
	g.c.runCallbacks()
	return err
}
