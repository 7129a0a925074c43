package consumer

import (
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/kafkaerr"
)

// beat tells the coordinator that we live, each heartbeat.interval.ms, until the
// consumer closes. That the program lives is not enough, it must also get on: when Poll
// was not called for max.poll.interval.ms we leave, so that somebody else reads what
// we do not. Mirrors AbstractCoordinator.HeartbeatThread.
func (g *membership) beat() {
	wait := g.c.cfg.HeartbeatInterval
	for g.c.pause(wait) == nil {
		wait = g.c.cfg.HeartbeatInterval
		g.c.mu.Lock()
		member, late := g.state == stable, !g.inPoll && time.Since(g.lastPoll) > g.c.cfg.MaxPollInterval
		g.c.mu.Unlock()
		switch {
		case !member:
		case late:
			g.c.mu.Lock()
			g.lost = true
			g.c.mu.Unlock()
			g.leave(g.c.ctx)
		case g.heartbeat() != nil:
			wait = min(wait, g.c.cfg.Client.RetryBackoff)
		}
	}
}

// heartbeat sends one and takes over what the answer means. An error: it was not answered.
func (g *membership) heartbeat() error {
	g.c.mu.Lock()
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group, req.Generation, req.MemberID, req.InstanceID = g.c.cfg.Group, g.generation, g.memberID, g.instance()
	g.c.mu.Unlock()
	answer, err := g.ask(g.c.ctx, g.client, req, min(g.c.cfg.Client.RequestTimeout, g.c.cfg.SessionTimeout))
	if err != nil {
		g.judge(kafkaerr.CodeOf(err), req.Generation)
		return err
	}
	code := kafkaerr.Code(answer.(*kmsg.HeartbeatResponse).ErrorCode)
	if q := g.judge(code, req.Generation); q == again || q == lookElsewhere {
		return errors.New(code.Name())
	}
	return nil
}
