package zkserver

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// versionLine has the old form of the date: go-zookeeper and scripts know no other.
const versionLine = "3.8.0-kz, built on 01/01/2026 00:00 UTC"

// words are the four-letter words. Each prints into b; all run on apply, so what they say
// is true of one moment.
var words = map[string]func(s *Server, b *strings.Builder){
	"ruok": func(_ *Server, b *strings.Builder) { b.WriteString("imok") },
	"isro": func(_ *Server, b *strings.Builder) { b.WriteString("rw") },
	"srvr": func(s *Server, b *strings.Builder) { printVersion(b); s.printSummary(b) },
	"stat": (*Server).printStat,
	"mntr": (*Server).printMonitor,
	"dump": (*Server).printSessions,
	"cons": (*Server).printConnections,
	"wchs": (*Server).printWatchSummary,
	"wchp": (*Server).printWatchesByPath,
	"wchc": (*Server).printWatchesBySession,
	"conf": (*Server).printConfig,
	"envi": printEnvironment,
	"dirs": (*Server).printDirs,
	"crst": func(s *Server, b *strings.Builder) {
		for _, c := range s.connections() {
			c.received.Store(0)
			c.sent.Store(0)
			c.latency = latency{}
		}
		b.WriteString("Connection stats reset.\n")
	},
	"srst": func(s *Server, b *strings.Builder) { s.stats = stats{}; b.WriteString("Server stats reset.\n") },
}

func isFourLetterWord(first string) bool { return words[first] != nil }

// answerWord prints and hangs up.
func (s *Server) answerWord(c *conn, word string) {
	var b strings.Builder
	words[word](s, &b)
	c.pending = append(c.pending, b.String()...)
	s.hangUp(c)
}

func (s *Server) connections() []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sortedConns()
}

func printVersion(b *strings.Builder) { fmt.Fprintf(b, "Zookeeper version: %s\n", versionLine) }

// traffic is the packets of all open connections.
func (s *Server) traffic() (received, sent int64, connections int) {
	list := s.connections()
	for _, c := range list {
		received += c.received.Load()
		sent += c.sent.Load()
	}
	return received, sent, len(list)
}

func (s *Server) printSummary(b *strings.Builder) {
	received, sent, n := s.traffic()
	l := s.stats.latency
	fmt.Fprintf(b, "Latency min/avg/max: %d/%.4f/%d\nReceived: %d\nSent: %d\nConnections: %d\nOutstanding: %d\nZxid: 0x%x\nMode: standalone\nNode count: %d\n",
		l.least, l.average(), l.most, received, sent, n, len(s.requests), s.zxid, len(s.tree.nodes))
}

func (s *Server) printStat(b *strings.Builder) {
	printVersion(b)
	b.WriteString("Clients:\n")
	for _, c := range s.connections() {
		fmt.Fprintf(b, " /%s[1](queued=0,recved=%d,sent=%d)\n", c.net.RemoteAddr(), c.received.Load(), c.sent.Load())
	}
	b.WriteString("\n")
	s.printSummary(b)
}

func (s *Server) printMonitor(b *strings.Builder) {
	received, sent, n := s.traffic()
	ephemerals := 0
	for _, ss := range s.sessions {
		ephemerals += len(ss.ephemerals)
	}
	l := s.stats.latency
	for _, row := range []struct {
		key   string
		value any
	}{
		{"version", versionLine}, {"server_state", "standalone"},
		{"avg_latency", fmt.Sprintf("%.4f", l.average())}, {"min_latency", l.least}, {"max_latency", l.most},
		{"packets_received", received}, {"packets_sent", sent}, {"num_alive_connections", n}, {"outstanding_requests", len(s.requests)},
		{"znode_count", len(s.tree.nodes)}, {"watch_count", s.countWatches()}, {"ephemerals_count", ephemerals},
		{"approximate_data_size", s.tree.bytes}, {"global_sessions", len(s.sessions)}, {"stale_sessions_expired", s.stats.expired},
		{"uptime", s.clock()}, {"open_file_descriptor_count", openFiles()},
	} {
		fmt.Fprintf(b, "zk_%s\t%v\n", row.key, row.value)
	}
}

func (s *Server) printSessions(b *strings.Builder) {
	list := s.sortedSessions()
	fmt.Fprintf(b, "SessionTracker dump:\nSession Sets (%d)/(%d):\n", len(list), len(list))
	owners := 0
	for _, ss := range list {
		end := expiry(ss.lastHeard(), ss.timeout, s.cfg.Tick.Milliseconds())
		fmt.Fprintf(b, "1 expire at %s:\n\t%s\n", s.started.Add(time.Duration(end)*time.Millisecond).Format(time.UnixDate), sessionName(ss.id))
		if len(ss.ephemerals) > 0 {
			owners++
		}
	}
	fmt.Fprintf(b, "ephemeral nodes dump:\nSessions with Ephemerals (%d):\n", owners)
	for _, ss := range list {
		if len(ss.ephemerals) > 0 {
			fmt.Fprintf(b, "%s:\n\t%s\n", sessionName(ss.id), strings.Join(slices.Sorted(maps.Keys(ss.ephemerals)), "\n\t"))
		}
	}
}

// printConnections leaves out connections without a session: go-zookeeper's reader of
// this output fails on them.
func (s *Server) printConnections(b *strings.Builder) {
	for _, c := range s.connections() {
		if c.session == nil {
			continue
		}
		fmt.Fprintf(b, " /%s[1](queued=0,recved=%d,sent=%d,sid=%s,lop=%s,est=%d,to=%d,lcxid=0x%x,lzxid=0x%x,lresp=%d,llat=%d,minlat=%d,avglat=%d,maxlat=%d)\n",
			c.net.RemoteAddr(), c.received.Load(), c.sent.Load(), sessionName(c.session.id), shortName(c.lastOp), c.since.UnixMilli(), c.session.timeout,
			uint32(c.lastXid), uint64(c.lastZxid), wallClock(), c.latency.most, c.latency.least, int64(c.latency.average()), c.latency.most)
	}
	b.WriteString("\n")
}

func shortName(op opCode) string { return cmp.Or(opWords[op].short, "NA") }

func (s *Server) printConfig(b *strings.Builder) {
	fmt.Fprintf(b, "listen=%s\ndataDir=%s\ntickTime=%d\nmaxClientCnxns=%d\nminSessionTimeout=%d\nmaxSessionTimeout=%d\nserverId=0\n", s.listener.Addr(), s.cfg.Dir,
		s.cfg.Tick.Milliseconds(), s.cfg.MaxClientConns, s.cfg.MinSessionTimeout.Milliseconds(), s.cfg.MaxSessionTimeout.Milliseconds())
}

func printEnvironment(_ *Server, b *strings.Builder) {
	host, _ := os.Hostname()
	fmt.Fprintf(b, "Environment:\nzookeeper.version=%s\nhost.name=%s\ngo.version=%s\nos.name=%s\nos.arch=%s\n", versionLine, host, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func (s *Server) printDirs(b *strings.Builder) {
	snapshots, logs := s.log.sizes()
	fmt.Fprintf(b, "datadir_size: %d\nlogdir_size: %d\n", snapshots, logs)
}

// openFiles is -1 where the system does not tell.
func openFiles() int {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return -1
	}
	return len(list)
}
