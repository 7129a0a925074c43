package controller

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/kafkaerr"
	"kz/internal/topic"
	"kz/internal/zk"
)

// An event is one thing that happened and that the controller must think about. Events are
// processed one at a time, in the order they came, on the controller's goroutine. Its error
// ends the event, never the controller; ErrControllerMoved makes it look who reigns.
//
// Mirrors ControllerEvent; the names are Kafka's.
type event interface {
	process(c *Controller) error
}

// preemptible events have somebody waiting for an answer, who gets one also when the event
// is dropped.
type preemptible interface {
	preempt()
}

func preempt(dropped []event) {
	for _, ev := range dropped {
		if p, ok := ev.(preemptible); ok {
			p.preempt()
		}
	}
}

func eventName(ev event) string {
	return strings.TrimPrefix(fmt.Sprintf("%T", ev), "controller.")
}

// active makes an event do nothing on a broker that is not the controller.
func (c *Controller) active(f func() error) error {
	if !c.IsActive() {
		return nil
	}
	return f()
}

// Events about who is the controller: see reign.go.
type (
	startup                  struct{}
	controllerChange         struct{} // /controller was created or rewritten
	reelect                  struct{} // /controller is gone, or may be
	registerBrokerAndReelect struct{} // a new session
	expire                   struct{ begun chan struct{} }
)

func (startup) process(c *Controller) error                  { return c.startUp() }
func (controllerChange) process(c *Controller) error         { return c.maybeResign() }
func (reelect) process(c *Controller) error                  { return c.reelect() }
func (registerBrokerAndReelect) process(c *Controller) error { return c.registerAndReelect() }

func (e expire) process(c *Controller) error {
	close(e.begun)
	c.unregistered = true // until registerBrokerAndReelect, whatever is put before it
	c.activeID.Store(noLeader)
	c.resign()
	return nil
}

// Events from watches, for the active controller.
type (
	brokerChange           struct{} // children of /brokers/ids
	brokerModifications    struct{} // data of the registrations in touchedBrokers
	topicChange            struct{} // children of /brokers/topics
	partitionModifications struct{} // data of the topics in touchedTopics
	topicDeletion          struct{} // children of /admin/delete_topics
	zkReassignment         struct{} // /admin/reassign_partitions was created
	preferredByZnode       struct{} // /admin/preferred_replica_election was created
	isrChangeNotification  struct{} // children of /isr_change_notification
	logDirNotification     struct{} // children of /log_dir_event_notification
)

func (brokerChange) process(c *Controller) error          { return c.active(c.brokersChanged) }
func (topicChange) process(c *Controller) error           { return c.active(c.topicsChanged) }
func (topicDeletion) process(c *Controller) error         { return c.active(c.refuseDeletions) }
func (zkReassignment) process(c *Controller) error        { return c.active(c.refuseReassignment) }
func (preferredByZnode) process(c *Controller) error      { return c.active(c.electPreferredByZnode) }
func (isrChangeNotification) process(c *Controller) error { return c.active(c.isrsChanged) }
func (logDirNotification) process(c *Controller) error    { return c.active(c.logDirsFailed) }

// The names are taken out also by a broker that is not the controller (any more): a name
// that stays in the set would keep later ones from putting an event.

func (brokerModifications) process(c *Controller) error {
	names := c.touchedBrokers.drain()
	return c.active(func() error { return c.brokersModified(names) })
}

func (partitionModifications) process(c *Controller) error {
	names := c.touchedTopics.drain()
	return c.active(func() error { return c.partitionsModified(names) })
}

// autoPreferred is the timer's event; epoch is the reign that set the timer.
type autoPreferred struct{ epoch int32 }

func (e autoPreferred) process(c *Controller) error {
	if !c.IsActive() || e.epoch != c.cluster.epoch {
		return nil
	}
	defer c.scheduleRebalance(c.cfg.ImbalanceCheckInterval)
	return c.rebalanceLeaders()
}

// uncleanElectionEnable: topic "" is all topics.
type uncleanElectionEnable struct{ topic string }

func (e uncleanElectionEnable) process(c *Controller) error {
	return c.active(func() error { return c.bringOnline(e.topic) })
}

// controlledShutdown: a broker wants to stop and waits to be told what it still leads.
type controlledShutdown struct {
	broker int32
	epoch  int64
	answer chan shutdownAnswer // holds one
}

type shutdownAnswer struct {
	remaining []topic.Partition
	err       error
}

func (e controlledShutdown) process(c *Controller) error {
	if !c.IsActive() {
		e.preempt()
		return nil
	}
	remaining, err := c.shutDownBroker(e.broker, e.epoch)
	if err != nil && endsEvent(err) {
		e.preempt()
		return err
	}
	e.answer <- shutdownAnswer{remaining, err}
	return nil
}

func (e controlledShutdown) preempt() {
	e.answer <- shutdownAnswer{err: kafkaerr.Wrap(kafkaerr.StaleControllerEpoch, "controlled shutdown", zk.ErrControllerMoved)}
}

// answer is a broker's answer to one of the three requests.
type answer struct {
	broker   int32
	to       outgoing
	response kmsg.Response
}

// answered runs on a sender's goroutine.
func (c *Controller) answered(broker int32, o outgoing, r kmsg.Response) {
	c.queue.put(answer{broker, o, r})
}

// process ignores answers to an earlier reign, and of an earlier life of the broker: they
// say nothing about now.
func (e answer) process(c *Controller) error {
	if !c.IsActive() || e.to.controllerEpoch != c.cluster.epoch || c.cluster.brokers[e.broker].epoch != e.to.brokerEpoch {
		return nil
	}
	switch r := e.response.(type) {
	case *kmsg.LeaderAndISRResponse:
		return c.leaderAndISRAnswered(e.broker, r)
	case *kmsg.UpdateMetadataResponse:
		c.logAnswer(e.broker, "UpdateMetadata", r.ErrorCode)
	case *kmsg.StopReplicaResponse:
		c.logAnswer(e.broker, "StopReplica", r.ErrorCode)
	}
	return nil
}

// logAnswer says whether the request as a whole was accepted. A refusal is not answered
// with a repeat: the broker has seen a newer controller, or will register again.
func (c *Controller) logAnswer(broker int32, api string, code int16) bool {
	if code == 0 {
		return true
	}
	c.log.Error().Int32("broker", broker).Str("api", api).Str("error", kafkaerr.Code(code).Name()).Msg("a broker refused a request")
	return false
}
