//go:build !linux

package network

import (
	"errors"
	"net"
	"os"
	"syscall"
)

var errNoSendfile = errors.New("sendfile is used on Linux only")

// sendfileConn is nil: files are copied.
func sendfileConn(net.Conn) syscall.RawConn { return nil }

func (c *conn) sendfile(*os.File, int64, int64) (int64, error) { return 0, errNoSendfile }

func writeMore(syscall.RawConn, []byte) (int64, error) { return 0, errNoSendfile }
