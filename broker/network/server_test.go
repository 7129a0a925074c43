package network

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/link"
	"kz/internal/wire"
)

func TestARequestAndItsAnswer(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, r *rig) {
		for _, version := range []int16{8, 9} { // 9 is flexible
			req := kmsg.NewPtrMetadataRequest()
			req.SetVersion(version)
			call, err := r.client().Start(req)
			if err != nil {
				t.Fatal(err)
			}
			got := r.next()
			if diff := cmp.Diff(wire.RequestHeader{Key: metadata, Version: version, ClientID: "tester"}, got.Header); diff != "" {
				t.Error(diff)
			}
			if !bytes.Equal(got.Body, req.AppendTo(nil)) || got.Listener != "PLAINTEXT" || got.ClientHost != "/127.0.0.1" || !got.ReceivedAt.Equal(time.Now()) {
				t.Errorf("%+v", got)
			}
			resp := kmsg.NewPtrMetadataResponse()
			resp.ControllerID = 7
			respondTo(got, resp)
			a, err := call.Wait(t.Context())
			if err != nil || a.(*kmsg.MetadataResponse).ControllerID != 7 {
				t.Errorf("version %d: %v, %v", version, a, err)
			}
		}
	})
}

// Ref: Kafka 2.8 SocketServer.Processor.processCompletedReceives (mute), 5.3.
func TestOneRequestOfAConnectionAtATime(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, r *rig) {
		c := r.dial()
		send(t, c, bytes.Join([][]byte{frame(metadata, 1, 1, "a"), frame(metadata, 1, 2, "b"), frame(metadata, 1, 3, "c")}, nil))
		first := r.next()
		synctest.Wait()
		if n := len(r.Requests()); n != 0 {
			t.Fatalf("%d more requests of the same connection", n)
		}
		first.Respond(bytesPart("A")...)
		expect(t, c, 1, "A")
		second := r.next()
		if string(second.Body) != "b" {
			t.Errorf("body %q", second.Body)
		}
		second.NoResponse()
		r.next().Respond() // an empty answer is an answer
		expect(t, c, 3, "")
	})
}

func TestAFullQueueHoldsReadersUp(t *testing.T) {
	bubble(t, Config{QueuedMaxRequests: 2}, func(t *testing.T, r *rig) {
		for range 5 {
			send(t, r.dial(), frame(metadata, 1, 1, ""))
		}
		synctest.Wait()
		if n := len(r.Requests()); n != 2 {
			t.Errorf("%d requests wait", n)
		}
		for range 5 {
			r.next().Respond()
		}
	})
}

func TestBodyCanBeGivenBackEarly(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, r *rig) {
		c := r.dial()
		send(t, c, frame(metadata, 1, 1, "long poll"))
		req := r.next()
		req.Detach()
		if req.Body != nil {
			t.Error("a body that was given back can still be reached")
		}
		req.Detach()
		req.Respond(bytesPart("late")...)
		expect(t, c, 1, "late")
	})
}

func TestClosingInsteadOfAnAnswer(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, r *rig) {
		c := r.dial()
		send(t, c, frame(metadata, 1, 1, ""))
		r.next().Close("malformed body")
		expectClosed(t, c)
	})
}

func TestASecondEndIsABug(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, r *rig) {
		c := r.dial()
		for name, again := range map[string]func(*Request){
			"Respond": func(r *Request) { r.Respond() }, "NoResponse": (*Request).NoResponse, "Close": func(r *Request) { r.Close("x") },
		} {
			send(t, c, frame(metadata, 1, 1, ""))
			req := r.next()
			req.Respond()
			expect(t, c, 1, "")
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s after Respond went unnoticed", name)
					}
				}()
				again(req)
			}()
		}
	})
}

func TestPartsAreReleasedOnce(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, r *rig) {
		c, rel := r.dial(), newReleases()
		send(t, c, frame(metadata, 1, 1, ""))
		big := strings.Repeat("x", 100_000)
		r.next().Respond(rel.part("small", "a"), rel.part("empty", ""), rel.part("big", big), Part{Bytes: []byte("b")}, rel.part("last", "c"))
		expect(t, c, 1, "a"+big+"bc")
		rel.expect(t, "small", "empty", "big", "last")

		// The client is gone.
		send(t, c, frame(metadata, 1, 2, ""))
		req := r.next()
		c.Close()
		req.Respond(rel.part("gone", "a"), rel.part("too", big))
		rel.expect(t, "gone", "too")
	})
}

func TestNothingIsReadBeforeServe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, link.NewMemory(), Config{})
		c := r.dial()
		send(t, c, frame(metadata, 1, 1, ""))
		synctest.Wait()
		if len(r.Requests()) != 0 || r.Stats().Connections != 1 {
			t.Errorf("before Serve: %d requests, %+v", len(r.Requests()), r.Stats())
		}
		r.Serve()
		r.next().Respond()
		expect(t, c, 1, "")
	})
}

func TestStopReadingAnswersWhatIsInside(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, r *rig) {
		idle, half, inside, queued := r.dial(), r.dial(), r.dial(), r.dial()
		send(t, half, frame(metadata, 1, 1, "half")[:7])
		send(t, inside, append(frame(metadata, 1, 1, ""), frame(metadata, 1, 2, "never read")...))
		taken := r.next()
		send(t, queued, frame(metadata, 1, 1, ""))
		synctest.Wait()

		r.StopReading()
		expectClosed(t, idle)
		expectClosed(t, half)
		if _, err := r.net.Dial(t.Context(), r.Endpoints()[0].addr()); err == nil {
			t.Error("a new connection was accepted")
		}
		taken.Respond(bytesPart("last")...)
		expect(t, inside, 1, "last")
		expectClosed(t, inside)
		r.next().Respond() // the handlers drain the queue …
		expect(t, queued, 1, "")
		if _, open := <-r.Requests(); open { // … to its end
			t.Error("a new request came")
		}
	})
}

func TestStopReadingFreesReadersOfAFullQueue(t *testing.T) {
	bubble(t, Config{QueuedMaxRequests: 1}, func(t *testing.T, r *rig) {
		a, b := r.dial(), r.dial()
		send(t, a, frame(metadata, 1, 1, ""))
		synctest.Wait()
		send(t, b, frame(metadata, 1, 1, "waits for room"))
		synctest.Wait()
		r.StopReading()
		expectClosed(t, b)
		if got := r.next(); len(got.Body) != 0 {
			t.Errorf("%q got in", got.Body)
		}
	})
}

func TestStopWithARequestInside(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, r *rig) {
		c, rel := r.dial(), newReleases()
		send(t, c, frame(metadata, 1, 1, ""))
		req := r.next()
		r.Stop()
		expectClosed(t, c)
		req.Respond(rel.part("late", "x"))
		rel.expect(t, "late")
		r.Stop() // again, and with nothing left
	})
}

func TestStopDoesNotWaitForASlowReader(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, r *rig) {
		c, rel := r.dial(), newReleases()
		send(t, c, frame(metadata, 1, 1, ""))
		r.next().Respond(rel.part("huge", strings.Repeat("x", 10<<20)))
		synctest.Wait() // the socket is full
		start := time.Now()
		r.Stop()
		if d := time.Since(start); d != lastWrites {
			t.Errorf("Stop took %v", d)
		}
		rel.expect(t, "huge")
	})
}

func TestStopBeforeServeAndBeforeListen(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, r *rig) {
		n := newRig(t, r.net, Config{})
		c := n.dial()
		n.Stop()
		expectClosed(t, c)
		New(Config{}, r.net, zerolog.Nop()).Stop()
	})
}

func TestListen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := link.NewMemory()
		r := newRig(t, n, Config{Listeners: []Endpoint{{"INTERNAL", "127.0.0.1", 9091}, {"EXTERNAL", "", 0}}})
		got := r.Endpoints()
		if got[0] != (Endpoint{"INTERNAL", "127.0.0.1", 9091}) || got[1].Port == 0 || got[1].Listener != "EXTERNAL" {
			t.Errorf("%+v", got)
		}
		other := New(Config{Listeners: []Endpoint{{"A", "", 9093}, {"B", "", 9091}}}, n, zerolog.Nop())
		err := other.Listen()
		if err == nil || !strings.Contains(err.Error(), "B://:9091") {
			t.Errorf("a taken port: %v", err)
		}
		if l, err := n.Listen(":9093"); err != nil {
			t.Errorf("its other listener stayed: %v", err)
		} else {
			l.Close()
		}
	})
}

func TestASlowReaderHoldsUpNobodyElse(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, r *rig) {
		r.handle(func(req *Request) []Part { return bytesPart(strings.Repeat("x", int(req.Header.CorrelationID))) })
		for range 10 {
			send(t, r.dial(), frame(metadata, 1, 2<<20, "")) // and never read
		}
		c := r.dial()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		context.AfterFunc(ctx, func() { c.Close() })
		send(t, c, frame(metadata, 1, 3, ""))
		expect(t, c, 3, "xxx")
	})
}

// A reader that takes a little, again and again, does not prolong it either.
func TestStopDoesNotWaitForADripReader(t *testing.T) {
	f, content := tempFile(t, 8<<20)
	bubble(t, Config{ConnectionsMaxIdle: time.Hour}, func(t *testing.T, r *rig) {
		c := r.dial()
		send(t, c, frame(metadata, 1, 1, ""))
		r.next().Respond(Part{File: f, Length: int64(len(content))})
		synctest.Wait()
		var reader sync.WaitGroup
		reader.Go(func() {
			var err error
			for err == nil { // each time the next piece can begin
				time.Sleep(lastWrites / 10)
				_, err = io.CopyN(io.Discard, c, copyBuffer)
			}
		})
		start := time.Now()
		r.Stop()
		if d := time.Since(start); d != lastWrites {
			t.Errorf("Stop took %v", d)
		}
		reader.Wait()
	})
}
