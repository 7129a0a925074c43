package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/kafkaerr"
	"kz/internal/wire"
)

// ErrClosed is what a closed client answers.
var ErrClosed = errors.New("client is closed")

// Conn is a connection to one broker and the versions it advertised.
type Conn struct {
	*wire.Conn
	versions versions
}

// Prepare sets the highest version of req that both sides speak.
func (c *Conn) Prepare(req kmsg.Request) error { return c.PrepareUpTo(req, -1) }

// PrepareUpTo is Prepare with a ceiling, for APIs of which an old version means something
// else: OffsetCommit and OffsetFetch 0 are ZooKeeper's. Below 0 there is no ceiling.
func (c *Conn) PrepareUpTo(req kmsg.Request, highest int16) error {
	v, err := c.versions.choose(req.Key(), highest)
	if err == nil {
		req.SetVersion(v)
	}
	return err
}

// Supports says whether the broker advertises the API.
func (c *Conn) Supports(key kmsg.Key) bool {
	_, ok := c.versions[int16(key)]
	return ok
}

// usable says whether the connection has not failed yet.
func (c *Conn) usable() bool {
	select {
	case <-c.Done():
		return false
	default:
		return true
	}
}

// pool holds at most one connection per address and, while a broker does not
// answer, the time before which it is not dialled again. Mirrors ClusterConnectionStates.
type pool struct {
	cfg    Config
	mu     sync.Mutex // guards what follows; never held over a dial
	peers  map[string]*peer
	closed bool
}

// peer is one address. Its mutex is a one-place channel so that a caller can give
// up waiting for another caller's dial when its context ends.
type peer struct {
	addr     string
	turn     chan struct{} // holds one token when nobody dials
	conn     *Conn         // the token guards conn, failures and notUntil
	failures int
	notUntil time.Time
}

func newPool(cfg Config) *pool { return &pool{cfg: cfg, peers: map[string]*peer{}} }

func (p *pool) peer(addr string) (*peer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	pr := p.peers[addr]
	if pr == nil {
		pr = &peer{addr: addr, turn: make(chan struct{}, 1)}
		pr.turn <- struct{}{}
		p.peers[addr] = pr
	}
	return pr, nil
}

// get returns the connection to addr, dialling when there is none. After a failed
// dial it waits out the reconnect backoff first.
func (p *pool) get(ctx context.Context, addr string) (*Conn, error) {
	pr, err := p.peer(addr)
	if err != nil {
		return nil, err
	}
	select {
	case <-pr.turn:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { pr.turn <- struct{}{} }()
	if pr.conn != nil && pr.conn.usable() {
		return pr.conn, nil
	}
	if err := sleep(ctx, time.Until(pr.notUntil)); err != nil {
		return nil, err
	}
	c, err := p.dial(ctx, addr)
	if err != nil {
		pr.failures++
		pr.notUntil = time.Now().Add(p.reconnectDelay(pr.failures))
		if p.cfg.Unreachable != nil && ctx.Err() == nil {
			p.cfg.Unreachable(addr, err)
		}
		return nil, kafkaerr.Wrap(kafkaerr.NetworkException, "connection to "+addr, err)
	}
	pr.failures, pr.conn = 0, c
	p.mu.Lock()
	closed := p.closed
	p.mu.Unlock()
	if closed {
		c.Close()
		return nil, ErrClosed
	}
	return c, nil
}

// reconnectDelay doubles from reconnect.backoff.ms to its maximum, with 20 % jitter.
func (p *pool) reconnectDelay(failures int) time.Duration {
	d := p.cfg.ReconnectBackoff << min(failures-1, 20)
	d = min(d, p.cfg.ReconnectBackoffMax)
	return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64()))
}

// dial connects and asks for the versions: v3 first; a broker that closes on it, or
// answers UNSUPPORTED_VERSION, is asked again on a new connection with v0.
func (p *pool) dial(ctx context.Context, addr string) (*Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.ConnectTimeout)
	defer cancel()
	var first error
	for _, version := range []int16{3, 0} {
		wc, err := wire.Dial(ctx, p.cfg.Network, addr, p.cfg.ClientID)
		if err != nil {
			return nil, errors.Join(first, err)
		}
		v, err := askVersions(ctx, wc, version)
		if err == nil {
			return &Conn{Conn: wc, versions: v}, nil
		}
		wc.Close()
		first = err
		if ctx.Err() != nil {
			break
		}
	}
	return nil, first
}

func askVersions(ctx context.Context, wc *wire.Conn, version int16) (versions, error) {
	req := kmsg.NewPtrApiVersionsRequest()
	req.Version = version
	req.ClientSoftwareName, req.ClientSoftwareVersion = "kz", "1"
	resp, err := wc.Do(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("ApiVersions v%d: %w", version, err)
	}
	r, ok := resp.(*kmsg.ApiVersionsResponse)
	if !ok || r.ErrorCode != 0 {
		return nil, fmt.Errorf("ApiVersions v%d: %w", version, kafkaerr.Code(r.ErrorCode))
	}
	out := versions{}
	for _, k := range r.ApiKeys {
		out[k.ApiKey] = versionRange{k.MinVersion, k.MaxVersion}
	}
	return out, nil
}

// close closes every connection. Dials under way notice when they end.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	peers := p.peers
	p.peers = nil
	p.mu.Unlock()
	for _, pr := range peers {
		<-pr.turn
		if pr.conn != nil {
			pr.conn.Close()
		}
		pr.turn <- struct{}{}
	}
}

// sleep waits for d or for ctx.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Address joins host and port, with brackets around an IPv6 host.
func Address(host string, port int32) string { return net.JoinHostPort(host, strconv.Itoa(int(port))) }
