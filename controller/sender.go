package controller

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/journal"
	"kz/internal/link"
	"kz/internal/wire"
)

// resendPause is Kafka's, fixed in its code.
const resendPause = 100 * time.Millisecond

// A conn is a connection to one broker; *wire.Conn is one.
type conn interface {
	Do(ctx context.Context, req kmsg.Request) (kmsg.Response, error)
	Done() <-chan struct{} // closed when it is no longer usable
	Close() error
}

type dialFunc func(ctx context.Context, addr string) (conn, error)

// dialer connects as the controller does: its client id is its broker id in decimal.
func dialer(n link.Network, brokerID int32) dialFunc {
	clientID := strconv.Itoa(int(brokerID))
	return func(ctx context.Context, addr string) (conn, error) {
		c, err := wire.Dial(ctx, n, addr, clientID)
		if err != nil {
			return nil, err
		}
		return c, nil
	}
}

// outgoing is one request on its way.
type outgoing struct {
	request         kmsg.Request
	controllerEpoch int32
	brokerEpoch     int64 // of the receiver, when the request was made
}

// sender is the channel to one broker: an unbounded queue, and one goroutine that sends
// one request at a time, again and again, until it is answered or the broker is gone.
//
// That endless resend is what lets the controller forget a request once it is queued. Its
// price: a broker that reads and does not answer hears nothing else.
//
// Mirrors RequestSendThread.
type sender struct {
	broker         int32
	addr           string
	connectTimeout time.Duration // controller.socket.timeout.ms
	answerTimeout  time.Duration // request.timeout.ms
	dial           dialFunc
	answered       func(outgoing, kmsg.Response) // called on the sender's goroutine; must only enqueue
	journal        *journal.Journal
	log            zerolog.Logger

	queue *queue[outgoing]
	life  context.Context // ended by stop
	stop  context.CancelFunc
	conn  conn // nil: not connected; only the goroutine touches it
}

// run ends when the queue is closed.
func (s *sender) run() {
	defer s.disconnect()
	for o, ok := s.queue.take(); ok; o, ok = s.queue.take() {
		s.deliver(o)
	}
}

// close drops what waits and ends run. A request already on its way cannot be called
// back; the epochs in it are what makes it harmless.
func (s *sender) close() {
	s.queue.close()
	s.stop()
}

// deliver returns when the request was answered or the sender is closed.
func (s *sender) deliver(o outgoing) {
	api := apiName(o.request.Key())
	for attempt := 1; s.life.Err() == nil; attempt++ {
		answer, err := s.attempt(api, o)
		if err == nil {
			if s.journal.On() {
				s.journal.Emit(requestEvent(journal.RequestAnswered, api, s.broker, o))
			}
			s.answered(o, answer)
			return
		}
		if s.life.Err() != nil {
			return
		}
		s.disconnect()
		if attempt == 1 || attempt%100 == 0 { // every 10 s is enough to read
			s.log.Warn().Err(err).Str("api", api).Int("attempt", attempt).Msg("request not delivered; trying again until it is or the broker is gone")
		}
		s.pause()
	}
}

// attempt connects if need be, sends, and waits for the answer.
func (s *sender) attempt(api string, o outgoing) (kmsg.Response, error) {
	if s.conn != nil {
		select {
		case <-s.conn.Done(): // the broker closed it while we had nothing to say
			s.disconnect()
		default:
		}
	}
	if s.conn == nil {
		ctx, cancel := context.WithTimeout(s.life, s.connectTimeout)
		c, err := s.dial(ctx, s.addr)
		cancel()
		if err != nil {
			return nil, fmt.Errorf("connecting to %s: %w", s.addr, err)
		}
		s.conn = c
		s.log.Info().Str("addr", s.addr).Msg("connected to send state changes")
	}
	s.journal.At(journal.MomentControllerSend, api)
	if s.life.Err() != nil { // it may have ended while the moment held us
		return nil, s.life.Err()
	}
	if s.journal.On() {
		s.journal.Emit(requestEvent(journal.RequestSent, api, s.broker, o))
	}
	ctx, cancel := context.WithTimeout(s.life, s.answerTimeout)
	defer cancel()
	answer, err := s.conn.Do(ctx, o.request)
	if err != nil {
		return nil, fmt.Errorf("%s to %s: %w", api, s.addr, err)
	}
	return answer, nil
}

func (s *sender) disconnect() {
	if s.conn != nil {
		s.conn.Close()
		s.conn = nil
	}
}

func (s *sender) pause() {
	t := time.NewTimer(resendPause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.life.Done():
	}
}

func requestEvent(kind journal.Kind, api string, broker int32, o outgoing) journal.Event {
	return journal.Event{
		Kind: kind, Source: source, To: api, Replica: broker, Leader: noLeader,
		ControllerEpoch: o.controllerEpoch, BrokerEpoch: o.brokerEpoch,
		Text: fmt.Sprintf("%s v%d, broker %d", api, o.request.GetVersion(), broker),
	}
}
