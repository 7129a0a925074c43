package network

import (
	"errors"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// errNoSendfile: this pair of file and socket cannot; copy what is left.
var errNoSendfile = errors.New("sendfile does not work here")

// sendfileConn is the raw side of a TCP connection; nil for others.
func sendfileConn(nc net.Conn) syscall.RawConn {
	t, ok := nc.(*net.TCPConn)
	if !ok {
		return nil
	}
	raw, err := t.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}

// maxSendfile is what one call of sendfile takes at most.
const maxSendfile = 1 << 30

// sendfile moves n bytes of f, from offset on, to the socket. The offset is explicit,
// because all who read a segment share its file: the file's own position is never used,
// which is why net.TCPConn.ReadFrom will not do.
func (c *conn) sendfile(f *os.File, offset, n int64) (sent int64, err error) {
	file, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	c.writeDeadline()
	ferr := file.Control(func(in uintptr) { // keeps the descriptor open meanwhile
		werr := c.raw.Write(func(out uintptr) (done bool) {
			before := sent
			for sent < n {
				k, serr := unix.Sendfile(int(out), int(in), &offset, int(min(n-sent, maxSendfile)))
				if k > 0 {
					sent += int64(k)
				}
				switch {
				case serr == unix.EINTR:
				case serr == unix.EAGAIN:
					if sent > before { // the client reads: give it the full time again
						c.writeDeadline()
					}
					return false
				case serr == unix.EINVAL || serr == unix.ENOSYS || serr == unix.EOPNOTSUPP:
					err = errNoSendfile
					return true
				case serr != nil:
					err = os.NewSyscallError("sendfile", serr)
					return true
				case k == 0:
					err = errFileShrank
					return true
				}
			}
			return true
		})
		if err == nil {
			err = werr
		}
	})
	if err == nil {
		err = ferr
	}
	return sent, err
}

// writeMore writes b and tells TCP that more follows, so that a header does not travel in
// a packet of its own before the records.
func writeMore(raw syscall.RawConn, b []byte) (sent int64, err error) {
	werr := raw.Write(func(out uintptr) (done bool) {
		for int(sent) < len(b) {
			k, serr := unix.SendmsgN(int(out), b[sent:], nil, nil, unix.MSG_MORE|unix.MSG_NOSIGNAL)
			if k > 0 {
				sent += int64(k)
			}
			switch serr {
			case nil, unix.EINTR:
			case unix.EAGAIN:
				return false
			default:
				err = os.NewSyscallError("sendmsg", serr)
				return true
			}
		}
		return true
	})
	if err == nil {
		err = werr
	}
	return sent, err
}
