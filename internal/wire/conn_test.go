package wire

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"kz/internal/link"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// broker is the other end of a Conn, played by the test.
type broker struct {
	net.Conn
	t  *testing.T
	in *bufio.Reader
}

// withBroker runs f with a connection to a broker that only does what f says.
func withBroker(t *testing.T, f func(t *testing.T, c *Conn, b *broker)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := link.NewMemory()
		l, err := n.Listen("broker:9092")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		c, err := Dial(t.Context(), n, "broker:9092", "me")
		if err != nil {
			t.Fatal(err)
		}
		nc, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		defer c.Close()
		f(t, c, &broker{nc, t, bufio.NewReader(nc)})
	})
}

// next reads a request.
func (b *broker) next() (RequestHeader, kmsg.Request) {
	b.t.Helper()
	frame, err := ReadFrame(b.in, 1<<30)
	if err != nil {
		b.t.Fatal(err)
	}
	h, body, err := ParseRequestHeader(frame)
	if err != nil {
		b.t.Fatal(err)
	}
	req := kmsg.RequestForKey(h.Key)
	req.SetVersion(h.Version)
	if err := req.ReadFrom(body); err != nil {
		b.t.Fatal(err)
	}
	return h, req
}

func (b *broker) answer(h RequestHeader, resp kmsg.Response) {
	b.t.Helper()
	resp.SetVersion(h.Version)
	b.raw(resp.AppendTo(AppendResponseHeader(nil, h.Key, h.Version, h.CorrelationID)))
}

func (b *broker) raw(frame []byte) {
	b.t.Helper()
	if _, err := b.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...)); err != nil {
		b.t.Fatal(err)
	}
}

func metadataRequest(version int16) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.SetVersion(version)
	return req
}

// metadataOf is an answer that can be told from others.
func metadataOf(controller int32) *kmsg.MetadataResponse {
	resp := kmsg.NewPtrMetadataResponse()
	resp.ControllerID = controller
	return resp
}

func expectDead(t *testing.T, c *Conn, why string) {
	t.Helper()
	<-c.Done()
	if err := c.Err(); err == nil || !strings.Contains(err.Error(), why) || !strings.Contains(err.Error(), "broker:9092") {
		t.Errorf("closed with %v, want one that names the broker and says %q", err, why)
	}
	if _, err := c.Do(t.Context(), metadataRequest(1)); err == nil {
		t.Error("a dead connection took a request")
	}
}

func TestDo(t *testing.T) {
	withBroker(t, func(t *testing.T, c *Conn, b *broker) {
		for i, version := range []int16{1, 8, 9, 11} {
			go func() {
				h, req := b.next()
				if h.ClientID != "me" || h.CorrelationID != int32(i) || req.GetVersion() != version {
					t.Errorf("%+v", h)
				}
				b.answer(h, metadataOf(7))
			}()
			resp, err := c.Do(t.Context(), metadataRequest(version))
			if err != nil || resp.GetVersion() != version || resp.(*kmsg.MetadataResponse).ControllerID != 7 {
				t.Errorf("version %d: %+v, %v", version, resp, err)
			}
		}
	})
}

func TestPipelining(t *testing.T) {
	withBroker(t, func(t *testing.T, c *Conn, b *broker) {
		var calls [10]*Call
		for i := range calls {
			call, err := c.Start(metadataRequest(9))
			if err != nil {
				t.Fatal(err)
			}
			calls[i] = call
		}
		for i := range calls {
			h, _ := b.next()
			b.answer(h, metadataOf(int32(i)))
		}
		for i := len(calls) - 1; i >= 0; i-- { // waited for in any order
			resp, err := calls[i].Wait(t.Context())
			if err != nil || resp.(*kmsg.MetadataResponse).ControllerID != int32(i) {
				t.Errorf("%d: %v, %v", i, resp, err)
			}
			calls[i].Release()
		}
	})
}

func TestManyCallersAtOnce(t *testing.T) {
	withBroker(t, func(t *testing.T, c *Conn, b *broker) {
		const callers, each = 20, 50
		go func() {
			for range callers * each {
				h, req := b.next()
				b.answer(h, metadataOf(int32(len(*req.(*kmsg.MetadataRequest).Topics[0].Topic))))
			}
		}()
		var wg sync.WaitGroup
		for i := range callers {
			wg.Go(func() {
				for range each {
					req, name := metadataRequest(9), strings.Repeat("t", i+1)
					req.Topics = []kmsg.MetadataRequestTopic{{Topic: &name}}
					resp, err := c.Do(t.Context(), req)
					if err != nil || resp.(*kmsg.MetadataResponse).ControllerID != int32(i+1) {
						t.Errorf("caller %d got %v, %v", i, resp, err)
						return
					}
				}
			})
		}
		wg.Wait()
	})
}

func TestSendOnlyHasNoAnswer(t *testing.T) {
	withBroker(t, func(t *testing.T, c *Conn, b *broker) {
		produce := kmsg.NewPtrProduceRequest()
		produce.SetVersion(9)
		produce.Acks = 0
		if err := c.SendOnly(produce); err != nil {
			t.Fatal(err)
		}
		call, err := c.Start(metadataRequest(1))
		if err != nil {
			t.Fatal(err)
		}
		if h, _ := b.next(); h.Key != 0 || h.CorrelationID != 0 {
			t.Errorf("%+v", h)
		}
		h, _ := b.next()
		b.answer(h, metadataOf(1))
		if _, err := call.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// Ref: Kafka 2.8 ApiVersionsResponse.parse.
func TestApiVersionsAnsweredInVersion0(t *testing.T) {
	withBroker(t, func(t *testing.T, c *Conn, b *broker) {
		go func() {
			h, _ := b.next()
			h.Version = 0
			resp := kmsg.NewPtrApiVersionsResponse()
			resp.ErrorCode = 35
			resp.ApiKeys = []kmsg.ApiVersionsResponseApiKey{{ApiKey: 18, MaxVersion: 2}}
			b.answer(h, resp)
		}()
		req := kmsg.NewPtrApiVersionsRequest()
		req.SetVersion(3)
		resp, err := c.Do(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if v := resp.(*kmsg.ApiVersionsResponse); v.Version != 0 || v.ErrorCode != 35 || len(v.ApiKeys) != 1 || v.ApiKeys[0].MaxVersion != 2 {
			t.Errorf("%+v", v)
		}
	})
}

func TestABadAnswerEndsTheConnection(t *testing.T) {
	for _, row := range []struct {
		rule string
		do   func(b *broker, h RequestHeader)
		why  string
	}{
		{"another's correlation id", func(b *broker, h RequestHeader) { h.CorrelationID++; b.answer(h, metadataOf(1)) }, "correlation id 1 where 0 was due"},
		{"no correlation id", func(b *broker, h RequestHeader) { b.raw([]byte{0, 0}) }, "without a correlation id"},
		{"a body that ends early", func(b *broker, h RequestHeader) { b.raw([]byte{0, 0, 0, 0, 0, 0, 0, 9}) }, "Metadata answer, version 1"},
		{"a negative size", func(b *broker, h RequestHeader) { b.Write([]byte{0xff, 0xff, 0xff, 0xff}) }, "-1 bytes"},
		{"half an answer", func(b *broker, h RequestHeader) { b.Write([]byte{0, 0, 0, 9, 0, 0}); b.Close() }, "unexpected EOF"},
		{"the end", func(b *broker, h RequestHeader) { b.Close() }, "closed by the broker"},
	} {
		t.Run(row.rule, func(t *testing.T) {
			withBroker(t, func(t *testing.T, c *Conn, b *broker) {
				first, err := c.Start(metadataRequest(1))
				if err != nil {
					t.Fatal(err)
				}
				second, err := c.Start(metadataRequest(1))
				if err != nil {
					t.Fatal(err)
				}
				h, _ := b.next()
				row.do(b, h)
				for i, call := range []*Call{first, second} {
					if resp, err := call.Wait(t.Context()); err == nil {
						t.Errorf("request %d was answered: %+v", i, resp)
					}
				}
				expectDead(t, c, row.why)
			})
		})
	}
}

func TestAnAnswerToNoRequest(t *testing.T) {
	withBroker(t, func(t *testing.T, c *Conn, b *broker) {
		b.raw([]byte{0, 0, 0, 5})
		expectDead(t, c, "correlation id 5 to no request")
	})
}

func TestAContextThatEndsClosesTheConnection(t *testing.T) {
	withBroker(t, func(t *testing.T, c *Conn, b *broker) {
		other, err := c.Start(metadataRequest(1))
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		_, err = c.Do(ctx, metadataRequest(1))
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 30*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		if _, err := other.Wait(t.Context()); err == nil || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the other request, whose time is not up, got %v", err)
		}
		expectDead(t, c, "context ended")
	})
}

func TestAContextThatHasEndedSendsNothing(t *testing.T) {
	withBroker(t, func(t *testing.T, c *Conn, b *broker) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := c.Do(ctx, metadataRequest(1)); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if c.Err() != nil {
			t.Errorf("the connection was closed: %v", c.Err())
		}
	})
}

// The broker reads nothing: the first request fills the socket, the others wait their turn.
func TestAContextEndsAWriteThatBlocks(t *testing.T) {
	withBroker(t, func(t *testing.T, c *Conn, b *broker) {
		big := kmsg.NewPtrProduceRequest()
		big.SetVersion(9)
		big.Topics = []kmsg.ProduceRequestTopic{{Topic: "t", Partitions: []kmsg.ProduceRequestTopicPartition{{Records: make([]byte, 2<<20)}}}}
		waits := make(chan error)
		go func() {
			time.Sleep(time.Second)
			waits <- c.SendOnly(metadataRequest(1))
		}()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		if _, err := c.Do(ctx, big); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if err := <-waits; err == nil {
			t.Error("a request was sent after half of another")
		}
	})
}

func TestClose(t *testing.T) {
	withBroker(t, func(t *testing.T, c *Conn, b *broker) {
		call, err := c.Start(metadataRequest(1))
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		c.Close()
		if _, err := call.Wait(t.Context()); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		if _, err := c.Start(metadataRequest(1)); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		b.next()
		if _, err := ReadFrame(b.in, 10); err != io.EOF {
			t.Errorf("the broker sees %v", err)
		}
	})
}

func TestDialFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := link.NewMemory()
		if _, err := Dial(t.Context(), n, "nobody:9092", ""); err == nil {
			t.Error("dialed nobody")
		}
		if _, err := Dial(t.Context(), n, "nobody:9092", strings.Repeat("x", 1<<15)); err == nil || !strings.Contains(err.Error(), "client id") {
			t.Error(err)
		}
	})
}

// Records of an answer belong to the caller: later answers must not touch them, unless
// the memory was released.
func TestRecordsBelongToTheCaller(t *testing.T) {
	withBroker(t, func(t *testing.T, c *Conn, b *broker) {
		fetch := func(fill byte) *kmsg.FetchResponse {
			req := kmsg.NewPtrFetchRequest()
			req.SetVersion(11)
			call, err := c.Start(req)
			if err != nil {
				t.Fatal(err)
			}
			h, _ := b.next()
			resp := kmsg.NewPtrFetchResponse()
			resp.Topics = []kmsg.FetchResponseTopic{{Topic: "t", Partitions: []kmsg.FetchResponseTopicPartition{{RecordBatches: []byte(strings.Repeat(string(fill), 1000))}}}}
			b.answer(h, resp)
			got, err := call.Wait(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return got.(*kmsg.FetchResponse)
		}
		first := fetch('a')
		for range 10 {
			fetch('b')
		}
		if got := string(first.Topics[0].Partitions[0].RecordBatches); got != strings.Repeat("a", 1000) {
			t.Errorf("%.20q…", got)
		}
	})
}

func BenchmarkDo(b *testing.B) {
	n := link.NewMemory()
	l, err := n.Listen("broker:9092")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	go func() {
		nc, err := l.Accept()
		if err != nil {
			return
		}
		defer nc.Close()
		in := NewFrameReader(bufio.NewReader(nc))
		var out []byte
		resp := metadataOf(1)
		resp.SetVersion(1)
		for {
			frame, err := in.Next(1 << 30)
			if err != nil {
				return
			}
			h, _, _ := ParseRequestHeader(frame.B)
			frame.Free()
			out = resp.AppendTo(AppendResponseHeader(append(out[:0], 0, 0, 0, 0), h.Key, h.Version, h.CorrelationID))
			binary.BigEndian.PutUint32(out, uint32(len(out)-4))
			nc.Write(out)
		}
	}()
	c, err := Dial(context.Background(), n, "broker:9092", "bench")
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Do(ctx, metadataRequest(1)); err != nil {
			b.Fatal(err)
		}
	}
}
