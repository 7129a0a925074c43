package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/kafkaerr"
	"kz/internal/link"
)

// Client asks brokers. It is safe for concurrent use.
type Client struct {
	cfg   Config
	pool  *pool
	known atomic.Pointer[Cluster] // the latest answer to Metadata; nil before the first
}

// New makes a client. It connects to nobody yet.
func New(cfg Config) *Client {
	if cfg.Network == nil {
		cfg.Network = link.TCP{}
	}
	return &Client{cfg: cfg, pool: newPool(cfg)}
}

// Config is what the client was made with.
func (c *Client) Config() Config { return c.cfg }

// Close closes every connection; requests under way fail.
func (c *Client) Close() { c.pool.close() }

// learn keeps brokers and controller of an answer for Node and Controller.
func (c *Client) learn(cl *Cluster) {
	if len(cl.Brokers) > 0 { // a broker that just started knows nobody yet
		c.known.Store(cl)
	}
}

// Node asks one broker by id. An id that the latest metadata does not name asks for metadata first.
func (c *Client) Node(ctx context.Context, id int32, req kmsg.Request) (kmsg.Response, error) {
	conn, err := c.Connect(ctx, id)
	if err != nil {
		return nil, err
	}
	return c.ask(ctx, conn, req, -1)
}

// Connect gives the connection to a broker by id, for callers that pipeline.
func (c *Client) Connect(ctx context.Context, id int32) (*Conn, error) {
	cl := c.known.Load()
	if cl == nil || cl.Brokers[id].Addr == "" {
		var err error
		if cl, err = c.Metadata(ctx, []string{}, false); err != nil {
			return nil, err
		}
	}
	b, ok := cl.Brokers[id]
	if !ok {
		return nil, kafkaerr.New(kafkaerr.BrokerNotAvailable, fmt.Sprintf("broker %d is not alive", id))
	}
	return c.pool.get(ctx, b.Addr)
}

// Any asks whichever broker answers: the known ones and the bootstrap list, each
// once, from a random place on, so that many clients do not all ask the first.
func (c *Client) Any(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	return c.AnyUpTo(ctx, req, -1)
}

// AnyUpTo is Any in no higher version than the given one, see Conn.PrepareUpTo.
func (c *Client) AnyUpTo(ctx context.Context, req kmsg.Request, highest int16) (kmsg.Response, error) {
	var failures []error
	for _, addr := range c.candidates() {
		conn, err := c.pool.get(ctx, addr)
		if err == nil {
			var resp kmsg.Response
			if resp, err = c.ask(ctx, conn, req, highest); err == nil {
				return resp, nil
			}
		}
		failures = append(failures, err)
		if ctx.Err() != nil || errors.Is(err, kafkaerr.UnsupportedVersion) || errors.Is(err, ErrClosed) {
			break
		}
	}
	return nil, kafkaerr.Wrap(kafkaerr.CodeOf(errors.Join(failures...)), "no broker answered "+kmsg.NameForKey(req.Key()), errors.Join(failures...))
}

func (c *Client) candidates() []string {
	var out []string
	seen := map[string]bool{}
	add := func(addrs []string) {
		if len(addrs) == 0 {
			return
		}
		start := rand.IntN(len(addrs))
		for i := range addrs {
			if a := addrs[(start+i)%len(addrs)]; !seen[a] {
				seen[a] = true
				out = append(out, a)
			}
		}
	}
	if cl := c.known.Load(); cl != nil {
		add(cl.brokerAddrs())
	}
	add(c.cfg.Bootstrap)
	return out
}

// Controller asks the broker that the latest metadata names as the controller. When
// none is known, or refresh is set, it asks for metadata first.
func (c *Client) Controller(ctx context.Context, req kmsg.Request, refresh bool) (kmsg.Response, error) {
	cl := c.known.Load()
	if cl == nil || refresh || cl.Controller < 0 {
		var err error
		if cl, err = c.Metadata(ctx, []string{}, false); err != nil {
			return nil, err
		}
	}
	if cl.Controller < 0 {
		return nil, kafkaerr.New(kafkaerr.NotController, "the cluster has no controller at the moment")
	}
	return c.Node(ctx, cl.Controller, req)
}

// ask sends one request within request.timeout.ms.
func (c *Client) ask(ctx context.Context, conn *Conn, req kmsg.Request, highest int16) (kmsg.Response, error) {
	if err := conn.PrepareUpTo(req, highest); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.cfg.RequestTimeout)
	defer cancel()
	resp, err := conn.Do(ctx, req)
	if err != nil {
		return nil, kafkaerr.Wrap(kafkaerr.NetworkException, kmsg.NameForKey(req.Key()), err)
	}
	return resp, nil
}

// Retriable says whether a failed call may be repeated: Kafka's retriable codes,
// among them NETWORK_EXCEPTION, which stands for every lost connection.
func Retriable(err error) bool {
	return err != nil && !errors.Is(err, ErrClosed) && kafkaerr.CodeOf(err).Retriable()
}

// Backoff waits retry.backoff.ms; its error is ctx's.
func (c *Client) Backoff(ctx context.Context) error { return sleep(ctx, c.cfg.RetryBackoff) }

// Deadline bounds ctx by default.api.timeout.ms.
func (c *Client) Deadline(ctx context.Context) (context.Context, context.CancelFunc, time.Time) {
	d := time.Now().Add(c.cfg.APITimeout)
	ctx, cancel := context.WithDeadline(ctx, d)
	return ctx, cancel, d
}
