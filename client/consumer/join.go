package consumer

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/client/assignor"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// outcome is what an attempt to join led to.
type outcome struct {
	generation int32
	parts      []topic.Partition
	err        error
}

// attempt is one JoinGroup and, if that worked, one SyncGroup:
//
//	JoinGroup  says what we want; is answered when everybody has joined. One member is
//	           told that it leads, and what all of them want
//	SyncGroup  the leader says who gets what; each is answered with its own share
//
// It runs beside Poll, because an answer may take as long as the slowest member.
type attempt struct {
	g          *membership
	ctx        context.Context // ended, with c.mu held, when the attempt is of no interest any more
	memberID   string
	generation int32 // of the membership we had, for what sticky members remember
	topics     []string
	owned      []topic.Partition
}

// startLocked begins an attempt.
func (g *membership) startLocked() {
	ctx, cancel := context.WithCancel(g.c.ctx)
	done := make(chan outcome, 1)
	g.attempt, g.stopAttempt = done, cancel
	g.enterLocked(joining)
	g.rejoin = false
	g.c.sub.joined = slices.Clone(g.c.sub.topics)
	a := &attempt{g: g, ctx: ctx, memberID: g.memberID, generation: g.generation, topics: g.c.sub.joined, owned: g.c.assignmentLocked()}
	g.c.wg.Go(func() {
		defer cancel()
		o := a.run(ctx)
		if o.err != nil {
			g.c.mu.Lock()
			if a.currentLocked() {
				g.enterLocked(unjoined)
			}
			g.c.mu.Unlock()
			_ = g.c.client.Backoff(ctx)
		}
		done <- o
		g.c.announce()
	})
	if !g.beating {
		g.beating = true
		g.c.wg.Go(g.beat)
	}
}

// currentLocked says whether the membership still waits for this attempt: Unsubscribe gives one up, and
// the next may have begun before it notices.
func (a *attempt) currentLocked() bool { return a.g.state == joining && a.ctx.Err() == nil }

func (a *attempt) run(ctx context.Context) outcome {
	resp, err := a.join(ctx)
	if err != nil {
		return outcome{err: err}
	}
	req := kmsg.NewPtrSyncGroupRequest()
	req.Group, req.Generation, req.MemberID, req.InstanceID = a.g.c.cfg.Group, resp.Generation, resp.MemberID, a.g.instance()
	kind := assignor.ProtocolType
	req.ProtocolType, req.Protocol = &kind, resp.Protocol
	if resp.LeaderID == resp.MemberID {
		if req.GroupAssignment, err = a.divide(ctx, resp); err != nil {
			return outcome{err: err}
		}
	} else {
		a.g.dealt(nil)
	}
	return a.sync(ctx, req)
}

// join sends JoinGroup, a second time when the coordinator wants us to come back with the id it gives.
func (a *attempt) join(ctx context.Context) (*kmsg.JoinGroupResponse, error) {
	g := a.g
	patience := max(g.c.cfg.Client.RequestTimeout, g.c.cfg.MaxPollInterval+5*time.Second)
	for {
		answer, err := g.ask(ctx, g.joins, a.request(), patience)
		if err != nil {
			return nil, err
		}
		resp := answer.(*kmsg.JoinGroupResponse)
		code := kafkaerr.Code(resp.ErrorCode)
		switch {
		case code == kafkaerr.None:
			a.known(resp.MemberID)
			return resp, nil
		case code == kafkaerr.MemberIDRequired && a.memberID == "" && resp.MemberID != "":
			a.memberID = resp.MemberID
			a.known(resp.MemberID)
			continue
		}
		return nil, kafkaerr.Wrap(code, "join group "+g.c.cfg.Group, nil)
	}
}

// known keeps the member id, so that even a member that never got further can leave.
func (a *attempt) known(id string) {
	a.g.c.mu.Lock()
	defer a.g.c.mu.Unlock()
	if a.currentLocked() {
		a.g.memberID = id
	}
}

func (a *attempt) request() *kmsg.JoinGroupRequest {
	cfg := &a.g.c.cfg
	req := kmsg.NewPtrJoinGroupRequest()
	req.Group, req.MemberID, req.InstanceID, req.ProtocolType = cfg.Group, a.memberID, a.g.instance(), assignor.ProtocolType
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = int32(cfg.SessionTimeout.Milliseconds()), int32(cfg.MaxPollInterval.Milliseconds())
	for _, rule := range cfg.Assignors {
		s := assignor.Subscription{Topics: a.topics, Owned: a.owned}
		if rule.UserData != nil {
			s.UserData = rule.UserData(a.remembered(rule), a.generation)
		}
		p := kmsg.NewJoinGroupRequestProtocol()
		p.Name, p.Metadata = rule.Name, s.Encode()
		req.Protocols = append(req.Protocols, p)
	}
	return req
}

// remembered is what a sticky member had before it gave everything up to join.
func (a *attempt) remembered(rule assignor.Assignor) []topic.Partition {
	if rule.Cooperative {
		return a.owned
	}
	a.g.c.mu.Lock()
	defer a.g.c.mu.Unlock()
	return a.g.remembered
}

// divide is the leader's work: what everybody wants, and how many partitions there are, become shares.
func (a *attempt) divide(ctx context.Context, resp *kmsg.JoinGroupResponse) ([]kmsg.SyncGroupRequestGroupAssignment, error) {
	i := slices.IndexFunc(a.g.c.cfg.Assignors, func(r assignor.Assignor) bool { return resp.Protocol != nil && r.Name == *resp.Protocol })
	if i < 0 {
		return nil, kafkaerr.New(kafkaerr.InconsistentGroupProtocol, fmt.Sprintf("the coordinator chose the rule %v, which we did not offer", resp.Protocol))
	}
	members, wanted := assignor.Members{}, map[string]bool{}
	for _, m := range resp.Members {
		s, err := assignor.DecodeSubscription(m.ProtocolMetadata)
		if err != nil {
			return nil, kafkaerr.Wrap(kafkaerr.InconsistentGroupProtocol, "member "+m.MemberID, err)
		}
		if m.InstanceID != nil {
			s.InstanceID = *m.InstanceID
		}
		members[m.MemberID] = s
		for _, t := range s.Topics {
			wanted[t] = true
		}
	}
	counts, err := a.count(ctx, wanted)
	if err != nil {
		return nil, err
	}
	a.g.dealt(counts)
	var out []kmsg.SyncGroupRequestGroupAssignment
	for id, parts := range a.g.c.cfg.Assignors[i].Assign(members, counts) {
		ga := kmsg.NewSyncGroupRequestGroupAssignment()
		ga.MemberID, ga.MemberAssignment = id, assignor.EncodeAssignment(parts)
		out = append(out, ga)
	}
	return out, nil
}

// count asks how many partitions the topics have; 0 for one that does not exist.
func (a *attempt) count(ctx context.Context, topics map[string]bool) (assignor.Counts, error) {
	names := make([]string, 0, len(topics))
	for t := range topics {
		names = append(names, t)
	}
	cl, err := a.g.c.client.Metadata(ctx, names, a.g.c.cfg.CreateTopics)
	if err != nil {
		return nil, err
	}
	counts := assignor.Counts{}
	for _, t := range names {
		counts[t] = len(cl.Topics[t].Partitions)
	}
	return counts, nil
}

// dealt keeps what the shares were made of, to notice when it changes.
func (g *membership) dealt(counts assignor.Counts) {
	g.c.mu.Lock()
	defer g.c.mu.Unlock()
	g.c.sub.dealt = counts
	if counts != nil {
		g.c.lookForLeaders() // whether it still is so
	}
}

func (a *attempt) sync(ctx context.Context, req *kmsg.SyncGroupRequest) outcome {
	g := a.g
	answer, err := g.ask(ctx, g.joins, req, max(g.c.cfg.Client.RequestTimeout, g.c.cfg.MaxPollInterval+5*time.Second))
	if err != nil {
		return outcome{err: err}
	}
	resp := answer.(*kmsg.SyncGroupResponse)
	if resp.ErrorCode != 0 {
		return outcome{err: kafkaerr.Wrap(kafkaerr.Code(resp.ErrorCode), "sync group "+g.c.cfg.Group, nil)}
	}
	parts, err := assignor.DecodeAssignment(resp.MemberAssignment)
	if err != nil {
		return outcome{err: err}
	}
	g.c.mu.Lock()
	defer g.c.mu.Unlock()
	if !a.currentLocked() {
		return outcome{err: kafkaerr.RebalanceInProgress} // we left meanwhile
	}
	g.enterLocked(stable) // heartbeats begin, even if Poll is late
	g.generation, g.memberID, g.lost = req.Generation, req.MemberID, false
	if req.Protocol != nil {
		g.protocol = *req.Protocol
	}
	return outcome{generation: req.Generation, parts: parts}
}
