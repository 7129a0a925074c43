package controller

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"kz/internal/journal"
	"kz/internal/kafkaerr"
	"kz/internal/link"
	"kz/internal/topic"
	"kz/internal/zk"
)

// source is the room's name in journal events.
const source = "controller"

// Config is the controller's part of server.properties.
type Config struct {
	BrokerID               int32
	InterBrokerListener    string        // inter.broker.listener.name: where brokers find a leader
	ControlPlaneListener   string        // control.plane.listener.name: where the controller finds brokers; "" = the one above
	SocketTimeout          time.Duration // controller.socket.timeout.ms: to connect to a broker
	RequestTimeout         time.Duration // request.timeout.ms: for a broker's answer; 0 = SocketTimeout
	AutoRebalance          bool          // auto.leader.rebalance.enable
	ImbalanceCheckInterval time.Duration // leader.imbalance.check.interval.seconds
	ImbalancePercentage    int           // leader.imbalance.per.broker.percentage
	UncleanElection        bool          // unclean.leader.election.enable, the broker's default for topics
	DeleteTopicEnable      bool          // delete.topic.enable
}

// Controller is one broker's part in having a controller: it stands for election, and does
// the work while elected. Mirrors KafkaController.
type Controller struct {
	cfg      Config
	zk       zooKeeper
	register func(context.Context) (epoch int64, err error)
	journal  *journal.Journal
	log      zerolog.Logger

	queue *queue[event]
	done  chan struct{} // closed when the controller's goroutine has ended
	life  context.Context
	end   context.CancelFunc // ends life; called by Stop

	// What other goroutines may ask.
	activeID       atomic.Int32 // broker id in /controller as last read, noLeader: none
	brokerEpoch    atomic.Int64
	uncleanDefault atomic.Bool
	started        atomic.Bool

	// Filled by watches, emptied by the controller.
	touchedTopics  nameSet // whose znode changed
	touchedBrokers nameSet // whose registration changed

	// The rest belongs to the controller's goroutine alone.
	cluster   *cluster
	channels  *channels
	rebalance *time.Timer     // the next automatic preferred election; nil: none
	refused   map[string]bool // znodes whose refusal was logged in this reign

	// unregistered: this broker's node went with its last session, and it is not registered
	// in the present one, or not yet. It is no candidate: nobody could find it.
	unregistered bool
}

// New needs register: (re-)creates /brokers/ids/<id> after a new session and returns the
// new broker epoch. It runs on the controller's goroutine.
func New(cfg Config, c *zk.Client, n link.Network, register func(context.Context) (epoch int64, err error), j *journal.Journal, log zerolog.Logger) *Controller {
	return newController(cfg, c, dialer(n, cfg.BrokerID), register, j, log)
}

func newController(cfg Config, z zooKeeper, dial dialFunc, register func(context.Context) (int64, error), j *journal.Journal, log zerolog.Logger) *Controller {
	if cfg.RequestTimeout == 0 {
		cfg.RequestTimeout = cfg.SocketTimeout
	}
	log = log.With().Str("room", source).Logger()
	c := &Controller{
		cfg: cfg, zk: z, register: register, journal: j, log: log,
		queue:   newQueue[event](),
		done:    make(chan struct{}),
		cluster: newCluster(),
		refused: map[string]bool{},
	}
	c.life, c.end = context.WithCancel(context.Background())
	c.activeID.Store(noLeader)
	c.uncleanDefault.Store(cfg.UncleanElection)
	c.channels = &channels{cfg: cfg, dial: dial, journal: j, log: log, senders: map[int32]*sender{}, answered: c.answered}
	return c
}

// Start enqueues Startup (facts 3.1) and returns.
func (c *Controller) Start() {
	if !c.started.CompareAndSwap(false, true) {
		return
	}
	c.zk.RegisterSession(source, c.beforeNewSession, c.afterNewSession)
	c.queue.put(startup{})
	go c.run()
}

// Stop ends the controller's goroutine and its senders. An elected controller resigns but
// leaves /controller to vanish with the session, so that others are elected only when this
// broker is really gone. Whoever waits for an answer gets one.
func (c *Controller) Stop() {
	c.zk.UnregisterSession(source)
	c.end()
	preempt(c.queue.close())
	if c.started.Load() {
		<-c.done
	}
}

// run is the only goroutine that touches c.cluster, so the cluster has no lock.
func (c *Controller) run() {
	defer close(c.done)
	for ev, ok := c.queue.take(); ok; ev, ok = c.queue.take() {
		switch err := ev.process(c); {
		case err == nil:
		case errors.Is(err, zk.ErrControllerMoved):
			c.log.Info().Str("event", eventName(ev)).Msg("another controller was elected meanwhile")
			if err := c.maybeResign(); err != nil {
				c.report(ev, err)
			}
		default:
			c.report(ev, err) // one bad event must not stop the controller
		}
	}
	c.zk.UnregisterData(controllerPath)
	c.resign()
	c.activeID.Store(noLeader)
	c.channels.wait()
}

func (c *Controller) report(ev event, err error) {
	if c.life.Err() != nil {
		return // we are stopping; everything fails
	}
	if errors.Is(err, zk.SessionExpired) { // of a broker that was frozen; the next session begins anew
		c.log.Info().Err(err).Str("event", eventName(ev)).Msg("event dropped: its session is over")
		return
	}
	c.log.Error().Err(err).Str("event", eventName(ev)).Msg("event failed")
}

// beforeNewSession runs when the session has expired and no new one is open yet. What
// waits in the queue was decided on a dead session: it is dropped. The new session is held
// back until the controller has begun to resign, which also means that it has finished
// whatever it was doing.
func (c *Controller) beforeNewSession() {
	ev := expire{begun: make(chan struct{})}
	dropped, ok := c.queue.replace(ev)
	preempt(dropped)
	if !ok {
		return
	}
	select {
	case <-ev.begun:
	case <-c.done:
	}
}

func (c *Controller) afterNewSession() { c.queue.put(registerBrokerAndReelect{}) }

// IsActive says whether this broker is the controller now.
func (c *Controller) IsActive() bool { return c.activeID.Load() == c.cfg.BrokerID }

// ID is the broker id in /controller as last read, -1 none.
func (c *Controller) ID() int32 { return c.activeID.Load() }

// BrokerEpoch is this broker's current epoch (czxid of its registration).
func (c *Controller) BrokerEpoch() int64 { return c.brokerEpoch.Load() }

// SetBrokerEpoch is for the first registration, which the broker makes itself.
func (c *Controller) SetBrokerEpoch(e int64) { c.brokerEpoch.Store(e) }

// ControlledShutdown answers the request of that name: the partitions that the broker
// still leads. Errors carry Kafka's codes: STALE_CONTROLLER_EPOCH when this broker is not
// the controller (or is not any more when the request's turn comes), STALE_BROKER_EPOCH
// for a request from before the broker's last registration, BROKER_NOT_AVAILABLE for a
// broker that is not registered. A brokerEpoch of -1 is not checked.
func (c *Controller) ControlledShutdown(ctx context.Context, brokerID int32, brokerEpoch int64) (remaining []topic.Partition, err error) {
	ev := controlledShutdown{broker: brokerID, epoch: brokerEpoch, answer: make(chan shutdownAnswer, 1)}
	if !c.queue.put(ev) {
		ev.preempt()
	}
	select {
	case a := <-ev.answer:
		return a.remaining, a.err
	case <-ctx.Done():
		return nil, kafkaerr.Wrap(kafkaerr.RequestTimedOut, "controlled shutdown", ctx.Err())
	}
}

// EnableUncleanElection enqueues an election after unclean.leader.election.enable became
// true: for one topic, or with "" as the broker's default.
func (c *Controller) EnableUncleanElection(topic string) {
	if topic == "" {
		c.uncleanDefault.Store(true)
	}
	if c.IsActive() {
		c.queue.put(uncleanElectionEnable{topic: topic})
	}
}

// SetUncleanElectionDefault follows the broker's dynamic config: what holds for topics
// that do not say. It starts no election.
func (c *Controller) SetUncleanElectionDefault(allowed bool) { c.uncleanDefault.Store(allowed) }
