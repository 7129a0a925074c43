package answers

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// patience is how long an answer may take that the case says nothing about.
const patience = 60 * time.Second

var (
	errClosed = errors.New("connection closed")
	errSilent = errors.New("no answer")
)

// conn is one TCP connection; what is asked on it is answered in order.
type conn struct {
	t        *T
	to       string // as the recorded lines call the broker
	address  string
	net      net.Conn
	corr     int32
	clientID *string
}

func dial(address string) (net.Conn, error) { return net.DialTimeout("tcp", address, patience) }

// conn connects to a broker by its part: the topics of topic() are led by broker 1, broker 2 follows.
func (t *T) conn(to string) *conn {
	id := int32(1)
	switch {
	case to == "leader":
	case to == "follower":
		id = 2
	case to == "controller":
		id = t.env.controller()
	case to == "not the controller":
		id = t.env.controller()%3 + 1
	case strings.HasPrefix(to, "broker "):
		n, _ := strconv.Atoi(to[len("broker "):])
		id = int32(n)
	default:
		t.tb.Fatal("no such broker: " + to)
	}
	c := &conn{t: t, to: to, address: t.env.address[id], clientID: kmsg.StringPtr("ans")}
	c.redial()
	return c
}

func (c *conn) redial() {
	if c.net != nil {
		c.net.Close()
	}
	n, err := dial(c.address)
	if err != nil {
		c.t.tb.Fatal(err)
	}
	c.net = n
	c.t.tb.Cleanup(func() { n.Close() })
}

// header is a request header with our own bytes, so that wrong ones can be made too.
func header(key, version int16, corr int32, clientID *string, flexible bool) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(key))
	b = binary.BigEndian.AppendUint16(b, uint16(version))
	b = binary.BigEndian.AppendUint32(b, uint32(corr))
	if key == 7 && version == 0 { // ControlledShutdown v0 has no client id
		return b
	}
	if clientID == nil {
		b = append(b, 0xff, 0xff)
	} else {
		b = binary.BigEndian.AppendUint16(b, uint16(len(*clientID)))
		b = append(b, *clientID...)
	}
	if flexible {
		b = append(b, 0)
	}
	return b
}

func frame(b []byte) []byte { return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...) }

func (c *conn) writeBytes(b []byte) {
	_ = c.net.SetWriteDeadline(time.Now().Add(patience))
	_, _ = c.net.Write(b) // a broker that closed is seen by the read
}

func (c *conn) write(req kmsg.Request, version int16) int32 {
	req.SetVersion(version)
	c.corr++
	b := header(req.Key(), version, c.corr, c.clientID, req.IsFlexible())
	c.writeBytes(frame(req.AppendTo(b)))
	return c.corr
}

// readFrame reads one answer; errClosed or errSilent say why there is none.
func (c *conn) readFrame(wait time.Duration) ([]byte, error) {
	_ = c.net.SetReadDeadline(time.Now().Add(wait))
	var size [4]byte
	if _, err := io.ReadFull(c.net, size[:]); err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, errSilent
		}
		return nil, errClosed
	}
	n := binary.BigEndian.Uint32(size[:])
	if n > 64<<20 {
		return nil, fmt.Errorf("an answer of %d bytes", n)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(c.net, b); err != nil {
		return nil, errClosed
	}
	return b, nil
}

// decode reads an answer and says whether encoding it again gives other bytes.
func decode(req kmsg.Request, corr int32, b []byte) (resp kmsg.Response, note string, err error) {
	if len(b) < 4 {
		return nil, "", fmt.Errorf("answer of %d bytes", len(b))
	}
	if got := int32(binary.BigEndian.Uint32(b)); got != corr {
		return nil, "", fmt.Errorf("correlation id %d instead of %d", got, corr)
	}
	b = b[4:]
	resp = req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	if resp.IsFlexible() && resp.Key() != 18 { // the header of ApiVersions' answer never has tags
		if len(b) == 0 || b[0] != 0 {
			return nil, "", fmt.Errorf("response header with tags: %x", b)
		}
		b = b[1:]
	}
	if err := resp.ReadFrom(b); err != nil {
		return nil, "", fmt.Errorf("undecodable answer %x: %v", b, err)
	}
	if again := resp.AppendTo(nil); !bytes.Equal(again, b) {
		note = fmt.Sprintf("encoding again gives %d bytes, the answer had %d", len(again), len(b))
	}
	return resp, note, nil
}

// build makes a request from a JSON text with kmsg's field names. $x stands for a variable of the
// case, "@text" in a bytes field for the blob of that name. What is not mentioned has kmsg's default.
func (t *T) build(api string, version int16, text string) kmsg.Request {
	key, ok := apiKey(api)
	if !ok {
		t.tb.Fatalf("no API %s", api)
	}
	req := kmsg.RequestForKey(key)
	if d, ok := req.(interface{ Default() }); ok {
		d.Default()
	}
	var v any
	dec := json.NewDecoder(strings.NewReader(t.subst(text)))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		t.tb.Fatalf("%v in %s", err, t.subst(text))
	}
	t.fill(req, v)
	req.SetVersion(version)
	return req
}

// pending is a request whose answer has not been read yet.
type pending struct {
	c       *conn
	req     kmsg.Request
	corr    int32
	version int16
	api     string
	text    string
	sent    time.Time
}

func (c *conn) send(api string, version int16, text string) *pending {
	p := &pending{c: c, req: c.t.build(api, version, text), version: version, api: api, text: text, sent: time.Now()}
	p.corr = c.write(p.req, version)
	return p
}

func (c *conn) do(api string, version int16, text string) kmsg.Response {
	return c.send(api, version, text).get()
}

// get waits for the answer and records it.
func (p *pending) get() kmsg.Response { return p.getWithin(patience) }

func (p *pending) getWithin(wait time.Duration) kmsg.Response {
	t := p.c.t
	if !serves(p.api, p.version) {
		p.expectRefusal()
		t.line(exchange{To: p.c.to, API: p.api, Version: p.version, Request: p.text, refused: true})
		if _, atAll := rangeOf(p.api); !atAll && !t.goesOn {
			t.stop(p.api + " is not served")
		}
		return nil
	}
	b, err := p.c.readFrame(t.waitFor(wait))
	if err == errSilent {
		p.record(fmt.Sprintf("no answer within %v", wait))
		return nil
	}
	if err != nil {
		p.record(err.Error())
		return nil
	}
	resp, note, err := decode(p.req, p.corr, b)
	if err != nil {
		p.record(err.Error())
		return nil
	}
	answer := t.dump(resp)
	if note != "" {
		answer = append(answer, kv{"(codec)", note})
	}
	p.record(answer)
	return resp
}

func (p *pending) record(answer any) {
	p.c.t.line(exchange{To: p.c.to, API: p.api, Version: p.version, Request: p.text, Answer: answer})
}

// expectRefusal checks that what is not served closes the connection without an answer, and opens
// a new one for what the case asks next.
func (p *pending) expectRefusal() {
	if b, err := p.c.readFrame(patience); err != errClosed {
		p.c.t.tb.Errorf("%s v%d is not served and must close the connection; got %x, %v", p.api, p.version, b, err)
	}
	p.c.redial()
}

// quiet waits for the answer without recording it. A refusal ends the case: what it prepares cannot be made.
func (p *pending) quiet() kmsg.Response {
	if !serves(p.api, p.version) {
		p.expectRefusal()
		p.c.t.stop(fmt.Sprintf("it needs %s v%d, which is not served", p.api, p.version))
	}
	b, err := p.c.readFrame(patience)
	if err != nil {
		p.c.t.stop(fmt.Sprintf("preparing with %s v%d: %v", p.api, p.version, err))
	}
	resp, _, err := decode(p.req, p.corr, b)
	if err != nil {
		p.c.t.tb.Fatal(err)
	}
	return resp
}

// raw sends bytes as they are and records what comes back, in hex after the size.
func (c *conn) raw(what string, b []byte, wait time.Duration) {
	c.writeBytes(b)
	answer, err := c.readFrame(c.t.waitFor(wait))
	out := fmt.Sprintf("%x", answer)
	if err == errSilent {
		out = fmt.Sprintf("no answer within %v", wait)
	} else if err != nil {
		out = err.Error()
	}
	c.t.line(exchange{To: c.to, API: "raw bytes", Request: what, Answer: out})
}
