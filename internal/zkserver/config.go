package zkserver

import (
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"kz/internal/journal"
	"kz/internal/link"
)

// Config says where a server listens, what it promises and what it keeps. Zero values
// mean ZooKeeper's defaults, except where a field says otherwise.
type Config struct {
	Addr    string       // host:port to listen on; "" is 127.0.0.1:2181, port 0 takes a free one
	Network link.Network // nil: TCP

	// Dir holds log and snapshots. "" keeps everything in memory: a Stop forgets it.
	Dir string
	// NoFsync leaves the log to the system's own write-out. A killed process loses
	// nothing; a power failure loses the last seconds of what was acknowledged.
	NoFsync bool
	// SnapshotEvery is the number of writes after which a snapshot is taken and the log
	// begins a new file. Default 100,000, as snapCount.
	SnapshotEvery int
	// SnapshotsKept is how many snapshots stay, with the logs they need. Default 3.
	SnapshotsKept int

	// Tick is the clock of session expiry: sessions end on its beats only. Default 2 s.
	Tick time.Duration
	// A client asks for a session timeout and gets it within these bounds. Defaults: 2
	// and 20 ticks. They may be set apart from the tick, as in zoo.cfg.
	MinSessionTimeout, MaxSessionTimeout time.Duration

	// MaxClientConns bounds the connections of one client address; 0 is no bound
	// (ZooKeeper's default is 60).
	MaxClientConns int
	// MaxRequest is the largest request in bytes. Default 1,048,575, as jute.maxbuffer.
	MaxRequest int
	// MaxUnsent is how many bytes may wait for a client that does not read before its
	// connection is closed. Default 64 MB.
	MaxUnsent int

	// ExtendedTypes allows nodes with a time to live; without it they are UNIMPLEMENTED.
	ExtendedTypes bool
	// ReapEvery is how often empty containers and outlived nodes are removed. Default 1 min.
	ReapEvery time.Duration
	// SuperDigest is "super:<base64 of SHA-1>": who authenticates so may do everything. "": nobody.
	SuperDigest string

	Journal *journal.Journal // told of every write, watch and session; may be nil
	Log     zerolog.Logger
}

func (c *Config) setDefaults() {
	def(&c.Addr, "127.0.0.1:2181")
	if c.Network == nil {
		c.Network = link.TCP{}
	}
	def(&c.SnapshotEvery, 100_000)
	def(&c.SnapshotsKept, 3)
	def(&c.Tick, 2*time.Second)
	def(&c.MinSessionTimeout, 2*c.Tick)
	def(&c.MaxSessionTimeout, 20*c.Tick)
	def(&c.MaxRequest, 0xfffff)
	def(&c.MaxUnsent, 64<<20)
	def(&c.ReapEvery, time.Minute)
}

func def[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Validate reports all faults of a config at once.
func (c Config) Validate() error {
	c.setDefaults()
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(c.Tick >= time.Millisecond, "tickTime %v: must be 1 ms or more", c.Tick)
	check(c.MinSessionTimeout >= time.Millisecond, "minSessionTimeout %v: must be 1 ms or more", c.MinSessionTimeout)
	check(c.MaxSessionTimeout >= c.MinSessionTimeout, "maxSessionTimeout %v: is below minSessionTimeout %v", c.MaxSessionTimeout, c.MinSessionTimeout)
	check(c.MaxSessionTimeout.Milliseconds() <= 1<<31-1, "maxSessionTimeout %v: must fit in 31 bits of milliseconds", c.MaxSessionTimeout)
	check(c.MaxClientConns >= 0, "maxClientCnxns %d: must be 0 (no bound) or more", c.MaxClientConns)
	check(c.MaxRequest >= 44 && c.MaxRequest <= 64<<20, "jute.maxbuffer %d: must be between 44 and %d", c.MaxRequest, 64<<20)
	check(c.MaxUnsent > 0, "MaxUnsent %d: must be positive", c.MaxUnsent)
	check(c.SnapshotEvery > 0, "snapCount %d: must be positive", c.SnapshotEvery)
	check(c.SnapshotsKept > 0, "autopurge.snapRetainCount %d: must be positive", c.SnapshotsKept)
	check(c.ReapEvery > 0, "ReapEvery %v: must be positive", c.ReapEvery)
	return errors.Join(errs...)
}
