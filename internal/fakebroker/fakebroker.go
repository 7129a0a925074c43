// Package fakebroker is a broker for the tests of clients: it speaks the protocol and
// does what the test says, so that a lost answer, a moved leader or a refusal happens
// exactly when it should.
//
//	what comes in   connections on the network handed in; one handler per API
//	what goes out   whatever the handlers answer; nothing, or a closed connection
//	who runs it     one goroutine per connection; handlers run on it, so requests of one
//	                connection are answered in order, as in Kafka
//
// The one rule: it decides nothing. Metadata and ApiVersions are answered from the
// Cluster's fields; everything else is the test's.
package fakebroker

import (
	"bufio"
	"encoding/binary"
	"net"
	"slices"
	"strconv"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/link"
	"kz/internal/wire"
)

// A Handler answers one request, or nil for no answer at all. Close ends the connection.
type Handler func(node int32, req kmsg.Request) kmsg.Response

// Close is what a handler returns to close the connection instead of answering.
var Close kmsg.Response = kmsg.NewPtrApiVersionsResponse()

// Topic is what Metadata says of one topic: the leader of each partition, -1 for none.
type Topic struct {
	Leaders []int32
	Epochs  []int32 // nil: all 0
	Err     int16
}

// Cluster is some brokers that know the same things.
type Cluster struct {
	network link.Network

	mu         sync.Mutex // guards what follows
	addrs      map[int32]string
	topics     map[string]Topic
	controller int32
	handlers   map[int16]Handler
	versions   map[int16]wire.VersionRange
	conns      map[net.Conn]int32
	closed     bool
	listeners  map[int32]net.Listener
	wg         sync.WaitGroup
}

// New starts brokers 1..n. Close ends them.
func New(n link.Network, brokers int32) (*Cluster, error) {
	c := &Cluster{
		network: n, addrs: map[int32]string{}, topics: map[string]Topic{}, controller: 1,
		handlers: map[int16]Handler{}, versions: map[int16]wire.VersionRange{}, conns: map[net.Conn]int32{}, listeners: map[int32]net.Listener{},
	}
	for _, v := range wire.Served() {
		c.versions[v.Key] = v
	}
	for id := int32(1); id <= brokers; id++ {
		l, err := n.Listen("127.0.0.1:0")
		if err != nil {
			c.Close()
			return nil, err
		}
		c.addrs[id], c.listeners[id] = l.Addr().String(), l
		c.wg.Go(func() { c.accept(id, l) })
	}
	return c, nil
}

// Addr is where a broker listens.
func (c *Cluster) Addr(id int32) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.addrs[id]
}

// Handle sets what answers an API.
func (c *Cluster) Handle(key kmsg.Key, h Handler) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handlers[int16(key)] = h
}

// SetTopic changes what Metadata says of a topic.
func (c *Cluster) SetTopic(name string, t Topic) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.topics[name] = t
}

// SetController changes who Metadata says the controller is.
func (c *Cluster) SetController(id int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.controller = id
}

// SetVersions changes what is advertised for an API; max below min hides it.
func (c *Cluster) SetVersions(key kmsg.Key, min, max int16) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.versions[int16(key)] = wire.VersionRange{Key: int16(key), Min: min, Max: max}
}

// Disconnect closes every connection to a broker; it goes on listening.
func (c *Cluster) Disconnect(id int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn, node := range c.conns {
		if node == id {
			conn.Close()
		}
	}
}

// Close ends all brokers and waits for their goroutines.
func (c *Cluster) Close() {
	c.mu.Lock()
	c.closed = true
	for _, l := range c.listeners {
		l.Close()
	}
	for conn := range c.conns {
		conn.Close()
	}
	c.mu.Unlock()
	c.wg.Wait()
}

func (c *Cluster) accept(id int32, l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		c.mu.Lock()
		if c.closed {
			c.mu.Unlock()
			conn.Close()
			return
		}
		c.conns[conn] = id
		c.mu.Unlock()
		c.wg.Go(func() { c.serve(id, conn) })
	}
}

func (c *Cluster) serve(id int32, conn net.Conn) {
	defer func() {
		conn.Close()
		c.mu.Lock()
		delete(c.conns, conn)
		c.mu.Unlock()
	}()
	r := bufio.NewReader(conn)
	for {
		frame, err := wire.ReadFrame(r, 1<<26)
		if err != nil {
			return
		}
		h, body, err := wire.ParseRequestHeader(frame)
		if err != nil {
			return
		}
		req := kmsg.RequestForKey(h.Key)
		req.SetVersion(h.Version)
		if req.ReadFrom(body) != nil {
			return
		}
		resp := c.answer(id, req)
		if resp == Close {
			return
		}
		if resp == nil {
			continue
		}
		resp.SetVersion(h.Version)
		out := wire.AppendResponseHeader(make([]byte, 4), h.Key, h.Version, h.CorrelationID)
		out = resp.AppendTo(out)
		binary.BigEndian.PutUint32(out, uint32(len(out)-4))
		if _, err := conn.Write(out); err != nil {
			return
		}
	}
}

func (c *Cluster) answer(id int32, req kmsg.Request) kmsg.Response {
	c.mu.Lock()
	h := c.handlers[req.Key()]
	c.mu.Unlock()
	if h != nil {
		return h(id, req)
	}
	switch r := req.(type) {
	case *kmsg.ApiVersionsRequest:
		return c.apiVersions()
	case *kmsg.MetadataRequest:
		return c.Metadata(r)
	default:
		return Close
	}
}

func (c *Cluster) apiVersions() kmsg.Response {
	c.mu.Lock()
	defer c.mu.Unlock()
	resp := kmsg.NewPtrApiVersionsResponse()
	for _, v := range c.versions {
		if v.Max >= v.Min {
			resp.ApiKeys = append(resp.ApiKeys, kmsg.ApiVersionsResponseApiKey{ApiKey: v.Key, MinVersion: v.Min, MaxVersion: v.Max})
		}
	}
	return resp
}

// Metadata is the answer that the Cluster gives itself, for handlers that only add to it.
func (c *Cluster) Metadata(r *kmsg.MetadataRequest) *kmsg.MetadataResponse {
	c.mu.Lock()
	defer c.mu.Unlock()
	resp := kmsg.NewPtrMetadataResponse()
	resp.ControllerID = c.controller
	for id, addr := range c.addrs {
		host, port, _ := net.SplitHostPort(addr)
		n, _ := strconv.Atoi(port)
		resp.Brokers = append(resp.Brokers, kmsg.MetadataResponseBroker{NodeID: id, Host: host, Port: int32(n)})
	}
	var names []string
	for _, t := range r.Topics {
		names = append(names, *t.Topic)
	}
	if r.Topics == nil {
		for name := range c.topics {
			names = append(names, name)
		}
		slices.Sort(names)
	}
	for _, name := range names {
		resp.Topics = append(resp.Topics, c.topic(name))
	}
	return resp
}

// topic describes one topic; one that was never set is UNKNOWN_TOPIC_OR_PARTITION.
func (c *Cluster) topic(name string) kmsg.MetadataResponseTopic {
	out := kmsg.NewMetadataResponseTopic()
	out.Topic = kmsg.StringPtr(name)
	t, ok := c.topics[name]
	if !ok {
		out.ErrorCode = 3
		return out
	}
	out.ErrorCode = t.Err
	for i, leader := range t.Leaders {
		p := kmsg.NewMetadataResponseTopicPartition()
		p.Partition, p.Leader, p.LeaderEpoch = int32(i), leader, 0
		if t.Epochs != nil {
			p.LeaderEpoch = t.Epochs[i]
		}
		if leader < 0 {
			p.ErrorCode = 5
		}
		p.Replicas, p.ISR = []int32{1}, []int32{1}
		out.Partitions = append(out.Partitions, p)
	}
	return out
}
