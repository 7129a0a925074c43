package wire

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/kafkaerr"
)

// Call is a request on its way. One goroutine waits for it.
type Call struct {
	conn  *Conn
	id    int32
	resp  kmsg.Response // empty, of the request's version, until Wait fills it
	done  chan struct{} // closed when frame or err is set
	frame *Buffer
	err   error
}

// Wait gives the answer, decoded. Call it once. A ctx that ends closes the connection,
// as in Do.
func (call *Call) Wait(ctx context.Context) (kmsg.Response, error) {
	select {
	case <-call.done:
	case <-ctx.Done():
		call.conn.fail(errGivenUp)
		<-call.done // fail answers everyone, unless the answer came first
	}
	switch {
	case call.err == nil:
	case ctx.Err() != nil:
		return nil, call.conn.endedBy(ctx)
	default:
		return nil, call.err
	}
	if err := call.decode(); err != nil {
		err = fmt.Errorf("%s answer, version %d: %w", APIName(call.resp.Key()), call.resp.GetVersion(), err)
		call.conn.fail(err)
		return nil, err
	}
	return call.resp, nil
}

// Release gives the answer's memory back for other answers. It is optional, and only for
// those who have copied or are done with all record bytes of the answer: none may be
// touched afterwards.
func (call *Call) Release() {
	call.frame.Free()
	call.frame = nil
}

func (call *Call) decode() error {
	_, body, err := parseResponseHeader(call.frame.B, call.resp.Key(), call.resp.GetVersion())
	if err != nil {
		return err
	}
	// A broker that does not know our version of ApiVersions answers in version 0.
	if call.resp.Key() == keyApiVersions && len(body) >= 2 &&
		int16(binary.BigEndian.Uint16(body)) == int16(kafkaerr.UnsupportedVersion) {
		call.resp.SetVersion(0)
	}
	return call.resp.ReadFrom(body)
}
