package requests

import (
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/wire"
)

// A foreignBroker answers what a controller sends and writes it down. Whatever else comes (kz's
// followers fetch from it) has its connection closed.
type foreignBroker struct {
	t    *testing.T
	addr string // the same over close and listen

	wg    sync.WaitGroup
	mu    sync.Mutex // guards what follows
	l     net.Listener
	got   []received
	conns map[net.Conn]int // how many requests of a controller came on it
	mute  bool             // it reads, and does not answer
	// reply changes an answer, which says that all is well, before it is sent; nil leaves it.
	reply func(kmsg.Request, kmsg.Response)
}

type received struct {
	conn   net.Conn
	header wire.RequestHeader
	epoch  int64 // the broker epoch
	text   string
}

func listen(t *testing.T) *foreignBroker {
	t.Helper()
	b := &foreignBroker{t: t, addr: "127.0.0.1:0", conns: map[net.Conn]int{}}
	b.listen()
	t.Cleanup(func() {
		b.close()
		b.wg.Wait()
	})
	return b
}

// listen begins to accept connections, for the first time or again.
func (b *foreignBroker) listen() {
	b.t.Helper()
	l, err := net.Listen("tcp", b.addr)
	if err != nil {
		b.t.Fatal(err)
	}
	b.addr = l.Addr().String()
	b.mu.Lock()
	b.l = l
	b.mu.Unlock()
	b.wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			b.mu.Lock()
			b.conns[conn] = 0
			b.mu.Unlock()
			b.wg.Go(func() { b.serve(conn) })
		}
	})
}

// close ends the listener and all connections.
func (b *foreignBroker) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.l.Close()
	for c := range b.conns {
		c.Close()
	}
}

func (b *foreignBroker) setMute(mute bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mute = mute
}

func (b *foreignBroker) setReply(f func(kmsg.Request, kmsg.Response)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reply = f
}

func (b *foreignBroker) serve(conn net.Conn) {
	defer conn.Close()
	for {
		frame, err := wire.ReadFrame(conn, 1<<20)
		if err != nil {
			return
		}
		h, body, err := wire.ParseRequestHeader(frame)
		if err != nil {
			b.t.Errorf("a request header that cannot be read: %v", err)
			return
		}
		req := kmsg.RequestForKey(h.Key)
		if req == nil || h.Key < 4 || h.Key > 6 {
			return
		}
		req.SetVersion(h.Version)
		if err := req.ReadFrom(body); err != nil {
			b.t.Errorf("%s v%d: %v", wire.APIName(h.Key), h.Version, err)
			return
		}
		text, epoch := describe(req)
		b.mu.Lock()
		b.conns[conn]++
		b.got = append(b.got, received{conn, h, epoch, text})
		mute, reply := b.mute, b.reply
		b.mu.Unlock()
		if mute {
			continue
		}
		resp := req.ResponseKind()
		if reply != nil {
			reply(req, resp)
		}
		if err := answer(conn, h, resp); err != nil {
			return
		}
	}
}

func answer(w io.Writer, h wire.RequestHeader, resp kmsg.Response) error {
	resp.SetVersion(h.Version)
	body := resp.AppendTo(wire.AppendResponseHeader(nil, h.Key, h.Version, h.CorrelationID))
	frame := append([]byte{byte(len(body) >> 24), byte(len(body) >> 16), byte(len(body) >> 8), byte(len(body))}, body...)
	_, err := w.Write(frame)
	return err
}

// since is what came after the first n requests.
func (b *foreignBroker) since(n int) []received {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.got[n:])
}

// describe puts a request into the form of the captures, entries sorted.
func describe(req kmsg.Request) (text string, brokerEpoch int64) {
	var entries []string
	var live []int32
	name, tail := "", "live"
	var controller, epoch int32
	add := func(topic string, p, ce, leader, le int32, isr []int32, zkv int32, replicas []int32, more string) {
		entries = append(entries, fmt.Sprintf("%s-%d{ce %d leader %d epoch %d isr [%s] zkV %d replicas [%s]%s}", topic, p, ce, leader, le, join(isr), zkv, join(replicas), more))
	}
	switch r := req.(type) {
	case *kmsg.LeaderAndISRRequest:
		name, tail, controller, epoch, brokerEpoch = "LeaderAndIsr", "liveLeaders", r.ControllerID, r.ControllerEpoch, r.BrokerEpoch
		for _, ts := range r.TopicStates {
			for _, p := range ts.PartitionStates {
				more := ""
				if p.IsNew {
					more = " isNew true"
				}
				add(ts.Topic, p.Partition, p.ControllerEpoch, p.Leader, p.LeaderEpoch, p.ISR, p.ZKVersion, p.Replicas, more)
			}
		}
		for _, l := range r.LiveLeaders {
			live = append(live, l.BrokerID)
		}
	case *kmsg.UpdateMetadataRequest:
		name, controller, epoch, brokerEpoch = "UpdateMetadata", r.ControllerID, r.ControllerEpoch, r.BrokerEpoch
		for _, ts := range r.TopicStates {
			for _, p := range ts.PartitionStates {
				more := ""
				if len(p.OfflineReplicas) > 0 {
					more = " offline [" + join(p.OfflineReplicas) + "]"
				}
				add(ts.Topic, p.Partition, p.ControllerEpoch, p.Leader, p.LeaderEpoch, p.ISR, p.ZKVersion, p.Replicas, more)
			}
		}
		if len(entries) == 0 {
			entries = []string{"no partitions;"}
		}
		for _, l := range r.LiveBrokers {
			live = append(live, l.ID)
		}
	case *kmsg.StopReplicaRequest:
		name, tail, controller, epoch, brokerEpoch = "StopReplica", "", r.ControllerID, r.ControllerEpoch, r.BrokerEpoch
		for _, ts := range r.Topics {
			for _, p := range ts.PartitionStates {
				entries = append(entries, fmt.Sprintf("%s-%d{leaderEpoch %d delete %v}", ts.Topic, p.Partition, p.LeaderEpoch, p.Delete))
			}
		}
	}
	slices.Sort(entries)
	slices.Sort(live)
	end := fmt.Sprintf("%s [%s]", tail, join(live))
	if tail == "" {
		end = ""
	}
	return fmt.Sprintf("%s v%d controller %d epoch %d; %s %s", name, req.GetVersion(), controller, epoch, strings.Join(entries, " "), end), brokerEpoch
}

func join(ids []int32) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(ids), "[]"), " ", ",")
}
