package controller

import (
	"context"
	"fmt"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/link"
	"kz/internal/wire"
)

// wireBroker listens as a broker does and hands every request frame to the test.
type wireBroker struct {
	listener net.Listener
	frames   chan wireFrame
}

type wireFrame struct {
	conn    int
	header  wire.RequestHeader
	request kmsg.Request
	socket  net.Conn
}

func listenWire(t *testing.T, n link.Network, addr string) *wireBroker {
	l, err := n.Listen(addr)
	if err != nil {
		t.Fatal(err)
	}
	b := &wireBroker{listener: l, frames: make(chan wireFrame, 100)}
	go func() {
		for i := 1; ; i++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go b.serve(i, c)
		}
	}()
	return b
}

func (b *wireBroker) serve(i int, c net.Conn) {
	for {
		frame, err := wire.ReadFrame(c, 1<<20)
		if err != nil {
			c.Close()
			return
		}
		h, body, err := wire.ParseRequestHeader(frame)
		if err != nil {
			panic(err)
		}
		req := kmsg.RequestForKey(h.Key)
		req.SetVersion(h.Version)
		if err := req.ReadFrom(body); err != nil {
			panic(err)
		}
		b.frames <- wireFrame{i, h, req, c}
	}
}

func (f wireFrame) answer() {
	resp := f.request.ResponseKind()
	resp.SetVersion(f.header.Version)
	body := wire.AppendResponseHeader(make([]byte, 4), f.header.Key, f.header.Version, f.header.CorrelationID)
	body = resp.AppendTo(body)
	size := len(body) - 4
	body[0], body[1], body[2], body[3] = byte(size>>24), byte(size>>16), byte(size>>8), byte(size)
	f.socket.Write(body)
}

func (f wireFrame) String() string {
	return fmt.Sprintf("connection %d, client %q: %s", f.conn, f.header.ClientID, describeRequest(f.request))
}

// The sender over Kafka's wire: one connection, one request in flight, the same request
// again after the answer timeout and after a broken connection, in order, until closed.
func TestSenderOverTheWire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := link.NewMemory()
		broker := listenWire(t, network, "127.0.0.1:9092")
		ch := &channels{
			cfg:  Config{BrokerID: 1, InterBrokerListener: "PLAINTEXT", SocketTimeout: 30 * time.Second, RequestTimeout: 30 * time.Second},
			dial: dialer(network, 1), log: zerolog.Nop(), senders: map[int32]*sender{},
		}
		answers := make(chan string, 10)
		ch.answered = func(id int32, o outgoing, r kmsg.Response) {
			answers <- fmt.Sprintf("%d %s", id, apiName(r.Key()))
		}
		c, p := batchCluster()
		b2 := c.brokers[2]
		b2.info.Endpoints[0].Host = "127.0.0.1"
		ch.add(b2)
		tr := newTranslator(ch.cfg, c)
		b := newBatch(c)
		b.leaderAndISR([]int32{2}, p, c.leadership[p], false)
		b.stopReplica(2, p, false)
		for _, m := range b.flush() {
			ch.send(m.broker, outgoing{request: tr.request(m)})
		}

		first := <-broker.frames
		want := `connection 1, client "1": LeaderAndIsr v4 controller 1 epoch 7; t-0{ce 6 leader 1 epoch 4 isr [1,2] zkV 9 replicas [1,2,3]} liveLeaders [1]`
		if first.String() != want {
			t.Errorf("first: %s\nwant:  %s", first, want)
		}
		synctest.Wait()
		if len(broker.frames) != 0 {
			t.Error("a second request is in flight")
		}
		began := time.Now()
		again := <-broker.frames // not answered for 30 s
		if d := time.Since(began); d < 30*time.Second || d > 31*time.Second || again.conn != 2 || describeRequest(again.request) != describeRequest(first.request) {
			t.Errorf("after %v: %s", d, again)
		}
		again.socket.Close() // the connection breaks instead of an answer
		third := <-broker.frames
		if third.conn != 3 || third.header.Key != 4 {
			t.Errorf("after a broken connection: %s", third)
		}
		third.answer()
		next := <-broker.frames
		if next.conn != 3 || next.header.Key != 6 {
			t.Errorf("next: %s, want UpdateMetadata on the same connection", next)
		}
		next.answer()
		last := <-broker.frames
		if last.header.Key != 5 {
			t.Errorf("last: %s, want StopReplica", last)
		}
		last.answer()
		for _, want := range []string{"2 LeaderAndIsr", "2 UpdateMetadata", "2 StopReplica"} {
			if got := <-answers; got != want {
				t.Errorf("answered %s, want %s", got, want)
			}
		}

		// The broker closes the idle connection: the next request goes out at once on a
		// new one.
		last.socket.Close()
		synctest.Wait()
		began = time.Now()
		ch.send(2, outgoing{request: tr.request(message{kind: updateMetadataMessage})})
		if f := <-broker.frames; f.conn != 4 || time.Since(began) != 0 {
			t.Errorf("after an idle close: %s, %v later", f, time.Since(began))
		}
		ch.removeAll() // with a request unanswered
		ch.wait()
		broker.listener.Close()
	})
}

// A broker that lacks the controllers' listener gets no sender; requests to it are dropped.
func TestChannelsWithoutListener(t *testing.T) {
	ch := &channels{cfg: Config{InterBrokerListener: "PLAINTEXT", ControlPlaneListener: "CONTROLLER"}, log: zerolog.Nop(), senders: map[int32]*sender{}}
	c, _ := batchCluster()
	ch.add(c.brokers[1])
	if len(ch.senders) != 0 {
		t.Error("a sender without an address")
	}
	ch.send(1, outgoing{request: &kmsg.UpdateMetadataRequest{}})
	ch.remove(1)
}

// An answer that is no Kafka costs the connection, not the controller.
func TestSenderSurvivesForeignBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := link.NewMemory()
		l, err := network.Listen("127.0.0.1:9092")
		if err != nil {
			t.Fatal(err)
		}
		good := make(chan struct{})
		go func() {
			for i := 0; ; i++ {
				c, err := l.Accept()
				if err != nil {
					return
				}
				switch i {
				case 0:
					c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
				case 1:
					c.Write([]byte{0, 0, 0, 5, 0, 0, 0, 0, 9}) // right correlation, broken body
				case 2:
					close(good)
				}
				go io.Copy(io.Discard, c)
			}
		}()
		ctx, cancel := context.WithCancel(context.Background())
		s := &sender{addr: "127.0.0.1:9092", dial: dialer(network, 1), connectTimeout: time.Second, answerTimeout: time.Second,
			log: zerolog.Nop(), queue: newQueue[outgoing](), life: ctx, stop: cancel, answered: func(outgoing, kmsg.Response) { t.Error("answered") }}
		ended := make(chan struct{})
		go func() { s.run(); close(ended) }()
		s.queue.put(outgoing{request: &kmsg.LeaderAndISRRequest{Version: 4}})
		<-good
		s.close()
		<-ended
		l.Close()
	})
}
