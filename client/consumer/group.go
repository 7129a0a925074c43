package consumer

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/client"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// memberState is where we stand with the group.
type memberState int

const (
	unjoined memberState = iota // not a member, or put out: heartbeats rest, commits fail
	joining                     // JoinGroup or SyncGroup is under way: the coordinator knows that we live
	stable                      // a member with an assignment: heartbeats go out, commits are taken
)

// validPrevious is the whole machine: the states each state may be entered from.
var validPrevious = map[memberState][]memberState{
	joining:  {unjoined, stable},          // Poll starts an attempt
	stable:   {joining},                   // SyncGroup was answered
	unjoined: {joining, stable, unjoined}, // the attempt failed, we were put out, or we left
}

// membership is our part of the group's protocol. c.mu guards the fields below the
// clients; requests go out without it.
//
//	Poll            decides: join now? runs the Listener
//	an attempt      one JoinGroup and SyncGroup (join.go), one at a time
//	the heart       Heartbeat while we are stable; notices that Poll is not called (heartbeat.go)
type membership struct {
	c      *Consumer
	client *client.Client
	joins  *client.Client // a parked JoinGroup holds up whatever follows on its connection: it has its own

	state       memberState
	coordinator int32 // node id; -1 unknown
	generation  int32 // -1 none
	memberID    string
	protocol    string            // the rule that the group chose
	rejoin      bool              // the coordinator said that the others are joining
	lost        bool              // we were put out: what we hold may be read by others
	prepared    bool              // the Listener has been told of the rebalance that is under way
	remembered  []topic.Partition // what we had when the rebalance began, for the sticky rule
	fenced      error             // another member has our group.instance.id: there is no way back
	attempt     chan outcome
	stopAttempt context.CancelFunc
	beating     bool
	inPoll      bool
	lastPoll    time.Time
	nextCommit  time.Time
	lastInLine  chan struct{} // closed when the latest commit is answered; nil: none was sent
}

func newMembership(c *Consumer) *membership {
	return &membership{
		c: c, client: client.New(c.cfg.Client), joins: client.New(c.cfg.Client),
		coordinator: -1, generation: -1, lastPoll: time.Now(), nextCommit: time.Now().Add(c.cfg.AutoCommitEvery),
	}
}

func (g *membership) closeClients() {
	if g != nil {
		g.client.Close()
		g.joins.Close()
	}
}

// polling notes that Poll begins or ends, for max.poll.interval.ms.
func (g *membership) polling(inside bool) {
	if g == nil {
		return
	}
	g.c.mu.Lock()
	defer g.c.mu.Unlock()
	g.inPoll, g.lastPoll = inside, time.Now()
}

// enterLocked changes the state.
func (g *membership) enterLocked(s memberState) {
	for _, from := range validPrevious[s] {
		if from == g.state {
			g.state = s
			return
		}
	}
	panic(fmt.Sprintf("consumer: member state %d entered from %d", s, g.state))
}

// putOutLocked forgets who we are: the coordinator does not know us any more.
// Mirrors AbstractCoordinator.resetGenerationOnResponseError.
func (g *membership) putOutLocked() {
	g.enterLocked(unjoined)
	g.generation, g.memberID, g.lost, g.prepared = -1, "", true, false
	g.c.announceLocked()
}

// GroupMember says who the consumer is in its group: generation -1 and no id while it is not in it.
func (c *Consumer) GroupMember() (generation int32, memberID string) {
	if c.group == nil {
		return -1, ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.group.generation, c.group.memberID
}

// instance is group.instance.id as requests want it.
func (g *membership) instance() *string {
	if g.c.cfg.InstanceID == "" {
		return nil
	}
	return &g.c.cfg.InstanceID
}

// ask sends a request to the coordinator, looking for it first when it is not known. A
// lost connection and the codes that say "not I" make it unknown again, see judge.
func (g *membership) ask(ctx context.Context, cl *client.Client, req kmsg.Request, patience time.Duration) (kmsg.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	node, err := g.find(ctx)
	for client.Retriable(err) && g.c.client.Backoff(ctx) == nil { // nothing was sent yet: this may be repeated
		node, err = g.find(ctx)
	}
	if err != nil {
		return nil, err
	}
	conn, err := cl.Connect(ctx, node)
	if err == nil {
		if err := conn.Prepare(req); err != nil {
			return nil, err
		}
		var resp kmsg.Response
		if resp, err = conn.Do(ctx, req); err == nil {
			return resp, nil
		}
	}
	g.forget(node)
	return nil, kafkaerr.Wrap(kafkaerr.NetworkException, kmsg.NameForKey(req.Key()), err)
}

// find asks any broker who coordinates the group.
func (g *membership) find(ctx context.Context) (int32, error) {
	g.c.mu.Lock()
	node := g.coordinator
	g.c.mu.Unlock()
	if node >= 0 {
		return node, nil
	}
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorKey = g.c.cfg.Group
	resp, err := g.client.Any(ctx, req)
	if err != nil {
		return -1, err
	}
	r := resp.(*kmsg.FindCoordinatorResponse)
	if r.ErrorCode != 0 {
		return -1, kafkaerr.Wrap(kafkaerr.Code(r.ErrorCode), "find the coordinator of "+g.c.cfg.Group, nil)
	}
	g.c.mu.Lock()
	defer g.c.mu.Unlock()
	g.coordinator = r.NodeID
	return r.NodeID, nil
}

// forget drops the coordinator, if it is still the one that failed.
func (g *membership) forget(node int32) {
	g.c.mu.Lock()
	defer g.c.mu.Unlock()
	if g.coordinator == node || node < 0 {
		g.coordinator = -1
	}
}

// consequence is what an error code of a group request means for the membership.
type consequence int

const (
	goOn          consequence = iota // nothing
	again                            // the same once more, a little later
	lookElsewhere                    // the coordinator is another broker by now
	joinAgain                        // the others are joining
	startOver                        // we are not a member any more
	giveUp                           // fatal: for the caller
)

// consequences is section 6 of the protocol as the client sees it. What is not in it is fatal.
// Mirrors the response handlers of AbstractCoordinator and ConsumerCoordinator.
var consequences = map[kafkaerr.Code]consequence{
	kafkaerr.None:                      goOn,
	kafkaerr.CoordinatorLoadInProgress: again,
	kafkaerr.UnstableOffsetCommit:      again,
	kafkaerr.UnknownTopicOrPartition:   again,
	kafkaerr.CoordinatorNotAvailable:   lookElsewhere,
	kafkaerr.NotCoordinator:            lookElsewhere,
	kafkaerr.RequestTimedOut:           lookElsewhere,
	kafkaerr.NetworkException:          lookElsewhere,
	kafkaerr.RebalanceInProgress:       joinAgain,
	kafkaerr.IllegalGeneration:         startOver,
	kafkaerr.UnknownMemberID:           startOver,
	kafkaerr.FencedInstanceID:          giveUp,
}

func consequenceOf(code kafkaerr.Code) consequence {
	if q, ok := consequences[code]; ok {
		return q
	}
	if code.Retriable() {
		return again
	}
	return giveUp
}

// judge takes over what an answer's code means, if it was about the generation that we
// are still in: an answer to an older self changes nothing.
func (g *membership) judge(code kafkaerr.Code, generation int32) consequence {
	q := consequenceOf(code)
	g.c.mu.Lock()
	defer g.c.mu.Unlock()
	switch q {
	case lookElsewhere:
		g.coordinator = -1
	case joinAgain:
		g.rejoin = true
		g.c.announceLocked()
	case startOver:
		if g.generation == generation && g.state == stable {
			g.putOutLocked()
		}
	case giveUp:
		if code == kafkaerr.FencedInstanceID {
			g.fenced = kafkaerr.Wrap(code, "group.instance.id "+g.c.cfg.InstanceID, nil)
			g.c.announceLocked()
		}
	}
	return q
}
