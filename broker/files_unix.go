//go:build unix

package broker

import (
	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"
)

// fewFiles is a limit of open files that a broker with many partitions reaches soon: each
// segment has three files open, each connection one.
const fewFiles = 10_000

// raiseFileLimit raises RLIMIT_NOFILE to what the system allows this process.
func raiseFileLimit(log zerolog.Logger) {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		log.Warn().Err(err).Msg("cannot read the limit of open files")
		return
	}
	if l.Cur < l.Max {
		raised := unix.Rlimit{Cur: l.Max, Max: l.Max}
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &raised); err == nil {
			l = raised
		}
	}
	if l.Cur < fewFiles {
		log.Warn().Uint64("limit", uint64(l.Cur)).Msg("few open files are allowed (ulimit -n): each segment takes three, each connection one")
	}
}
