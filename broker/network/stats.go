package network

import "sync/atomic"

// Stats counts since the server was made. Connections is the present number.
type Stats struct {
	Connections   int64
	Requests      int64
	SendfileBytes int64 // of files, that went to the socket inside the kernel
	CopiedBytes   int64 // of files, that were read and written
	OtherBytes    int64 // of answers, that were not in a file
}

type counters struct {
	connections, requests, sendfile, copied, other atomic.Int64
}

// Stats reads the counters, one after another.
func (s *Server) Stats() Stats {
	return Stats{
		Connections:   s.stats.connections.Load(),
		Requests:      s.stats.requests.Load(),
		SendfileBytes: s.stats.sendfile.Load(),
		CopiedBytes:   s.stats.copied.Load(),
		OtherBytes:    s.stats.other.Load(),
	}
}
