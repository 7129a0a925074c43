package controller

import (
	"context"
	"sync"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/journal"
)

// channels are the senders, one per registered broker, ourselves included. The map
// belongs to the controller's goroutine. Mirrors ControllerChannelManager.
type channels struct {
	cfg      Config
	dial     dialFunc
	answered func(broker int32, o outgoing, r kmsg.Response)
	journal  *journal.Journal
	log      zerolog.Logger

	senders map[int32]*sender
	running sync.WaitGroup // all senders that ever ran; wait returns when all ended
}

// listener is the one on which this controller reaches brokers.
func (c *channels) listener() string {
	if c.cfg.ControlPlaneListener != "" {
		return c.cfg.ControlPlaneListener
	}
	return c.cfg.InterBrokerListener
}

// add starts a sender, unless there is one.
func (c *channels) add(b liveBroker) {
	if c.senders[b.id] != nil {
		return
	}
	e, ok := b.endpoint(c.listener())
	if !ok {
		c.log.Error().Int32("broker", b.id).Str("listener", c.listener()).
			Msg("the broker does not advertise the listener that controllers use; it cannot be told anything")
		return
	}
	life, stop := context.WithCancel(context.Background())
	s := &sender{
		broker: b.id, addr: address(e), dial: c.dial,
		connectTimeout: c.cfg.SocketTimeout, answerTimeout: c.cfg.RequestTimeout,
		answered: func(o outgoing, r kmsg.Response) { c.answered(b.id, o, r) },
		journal:  c.journal,
		log:      c.log.With().Int32("to", b.id).Logger(),
		queue:    newQueue[outgoing](),
		life:     life, stop: stop,
	}
	c.senders[b.id] = s
	c.running.Go(s.run)
}

// remove ends a broker's sender and drops what it had not sent.
func (c *channels) remove(id int32) {
	if s := c.senders[id]; s != nil {
		s.close()
		delete(c.senders, id)
	}
}

// removeAll does it for all.
func (c *channels) removeAll() {
	for id := range c.senders {
		c.remove(id)
	}
}

// send queues a request; for a broker without a sender it is dropped, as in Kafka: the
// broker will be told everything when it registers again.
func (c *channels) send(id int32, o outgoing) {
	s := c.senders[id]
	if s == nil {
		c.log.Warn().Int32("broker", id).Str("api", apiName(o.request.Key())).Msg("request dropped: no channel to the broker")
		return
	}
	s.queue.put(o)
}

// wait returns when every sender's goroutine has ended; after removeAll.
func (c *channels) wait() { c.running.Wait() }
