package api

import (
	"fmt"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/broker/network"
	"kz/internal/kafkaerr"
	"kz/internal/wire"
)

// The keys of the APIs served.
const (
	keyProduce              = 0
	keyFetch                = 1
	keyListOffsets          = 2
	keyMetadata             = 3
	keyLeaderAndISR         = 4
	keyStopReplica          = 5
	keyUpdateMetadata       = 6
	keyControlledShutdown   = 7
	keyOffsetCommit         = 8
	keyOffsetFetch          = 9
	keyFindCoordinator      = 10
	keyJoinGroup            = 11
	keyHeartbeat            = 12
	keyLeaveGroup           = 13
	keySyncGroup            = 14
	keyDescribeGroups       = 15
	keyListGroups           = 16
	keySaslHandshake        = 17
	keyAPIVersions          = 18
	keyCreateTopics         = 19
	keyOffsetForLeaderEpoch = 23
	keyDescribeConfigs      = 32
	keySaslAuthenticate     = 36
	keyCreatePartitions     = 37
	keyDeleteGroups         = 42
	keyOffsetDelete         = 47
	keyDescribeCluster      = 60
)

// exchange is how a request is ended; *network.Request is one.
type exchange interface {
	Respond(parts ...network.Part)
	NoResponse()
	Close(reason string)
	Detach()
}

// call is one request on its way through a handler. It ends once: what comes after
// the first ending is dropped, so that the recovery from a panic may always close.
type call struct {
	ex         exchange
	header     wire.RequestHeader
	body       []byte // until detach or the end
	listener   string
	clientHost string
	ended      atomic.Bool
}

func newCall(ex exchange, h wire.RequestHeader, body []byte, listener, clientHost string) *call {
	return &call{ex: ex, header: h, body: body, listener: listener, clientHost: clientHost}
}

func (c *call) version() int16 { return c.header.Version }

// decode reads the body into req, or closes the connection and says false. Record bytes
// in req alias the body; all else is copied.
func (c *call) decode(req kmsg.Request) bool {
	req.SetVersion(c.header.Version)
	if err := req.ReadFrom(c.body); err != nil {
		c.close(fmt.Sprintf("malformed %s v%d: %v", wire.APIName(c.header.Key), c.header.Version, err))
		return false
	}
	return true
}

// detach gives the body's memory back: nothing of the request's record bytes may be
// touched afterwards.
func (c *call) detach() {
	c.body = nil
	c.ex.Detach()
}

// respond sends an answer in the request's version.
func (c *call) respond(resp kmsg.Response) {
	resp.SetVersion(c.header.Version)
	c.respondAs(resp)
}

// respondAs sends an answer in the version it is set to.
func (c *call) respondAs(resp kmsg.Response) {
	buf := wire.GetBuffer(answerSize)
	b := resp.AppendTo(buf.B[:0])
	if len(b) > cap(buf.B) { // it outgrew the pooled buffer
		buf.Free()
		c.respondParts(network.Part{Bytes: b})
		return
	}
	c.respondParts(network.Part{Bytes: b, Release: buf.Free})
}

// answerSize holds most answers.
const answerSize = 4 << 10

// respondParts sends an answer that is encoded already.
func (c *call) respondParts(parts ...network.Part) {
	if c.end() {
		c.ex.Respond(parts...)
		return
	}
	for _, p := range parts {
		if p.Release != nil {
			p.Release()
		}
	}
}

// silent ends a request that has no answer.
func (c *call) silent() {
	if c.end() {
		c.ex.NoResponse()
	}
}

func (c *call) close(reason string) {
	if c.end() {
		c.ex.Close(reason)
	}
}

func (c *call) end() bool { return c.ended.CompareAndSwap(false, true) }

// codeOf is the number on the wire.
func codeOf(err error) int16 { return int16(kafkaerr.CodeOf(err)) }

// messageOf is what an error says to the client, nil when Kafka says nothing.
func messageOf(err error) *string {
	if m := kafkaerr.MessageOf(err); m != "" {
		return &m
	}
	return nil
}
