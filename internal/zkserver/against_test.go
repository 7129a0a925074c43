package zkserver

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"kz/internal/zktest"
)

// `kz zookeeper` and Apache ZooKeeper, each a process with fsync on the same disk, turn and turn about:
// how fast they write, how soon they answer, what they hold in memory. KZ_SUITES=1 runs it;
// scripts/zk-bench.sh prints it.
//
// That the embedded one is at least as fast is claimed of the best round of each, because a disk that
// others use, too, makes single rounds slow; and by half, so that a busy machine does not fail it.
func TestAtLeastAsFastAsTheRealOne(t *testing.T) {
	kz := suites(t)
	runners := []*runner{
		{name: "kz zookeeper", opts: []zktest.Option{zktest.Fsync(), zktest.Command(kz, "zookeeper")}},
		{name: "ZooKeeper 3.8", opts: []zktest.Option{zktest.Fsync()}},
	}
	for _, r := range runners {
		r.server = zktest.Start(t, r.opts...)
		for range 3 {
			r.server.Stop()
			begin := time.Now()
			r.server.StartAgain(t)
			r.starts = append(r.starts, time.Since(begin))
		}
		r.prepare(t)
	}
	const rounds = 5
	for round := range rounds {
		for _, r := range runners {
			r.round(t, round)
		}
	}
	for _, r := range runners {
		r.resident = residentMB(t, r.server.Pid())
		t.Log(r)
	}
	own, real := runners[0], runners[1]
	for _, row := range []struct {
		what      string
		own, real float64
	}{
		{"creates, one at a time", slices.Max(own.sequential), slices.Max(real.sequential)},
		{"sets, 100 under way", slices.Max(own.pipelined), slices.Max(real.pipelined)},
	} {
		t.Logf("%s: %.2f times the real one's rate", row.what, row.own/row.real)
		if row.own < row.real/2 {
			t.Errorf("%s: %.0f/s, the real one %.0f/s", row.what, row.own, row.real)
		}
	}
	if own, real := slices.Min(own.starts), slices.Min(real.starts); own > real {
		t.Errorf("it answers %v after its start, the real one after %v", own, real)
	}
	if own.resident > 50 {
		t.Errorf("%d MB with %d znodes", own.resident, znodesHeld)
	}
}

// znodesHeld is how many nodes each server holds when its memory is looked at, at least.
const znodesHeld = 10_000

type runner struct {
	name   string
	opts   []zktest.Option
	server *zktest.Server
	client *client

	starts                []time.Duration
	sequential, pipelined []float64 // writes a second, of each round
	resident              int       // MB
}

// prepare makes the znodes, 200 bytes each.
func (r *runner) prepare(t *testing.T) {
	r.client = join(t, r.server.Addr, connectRequest{timeout: 60000})
	r.client.must(create("/held", ""))
	r.client.must(create("/made", ""))
	r.client.must(create("/set", payload))
	r.underWay(t, znodesHeld, func(i int) operation { return create(fmt.Sprint("/held/n", i), payload) })
}

// round is some writes of each kind.
func (r *runner) round(t *testing.T, number int) {
	const one, many = 500, 5000
	begin := time.Now()
	for i := range one {
		r.client.must(create(fmt.Sprintf("/made/%d-%d", number, i), payload))
	}
	r.sequential = append(r.sequential, one/time.Since(begin).Seconds())
	begin = time.Now()
	r.underWay(t, many, func(int) operation { return set("/set", payload) })
	r.pipelined = append(r.pipelined, many/time.Since(begin).Seconds())
}

// underWay does n operations, 100 at a time.
func (r *runner) underWay(t *testing.T, n int, o func(int) operation) {
	const depth = 100
	for i := range n + depth {
		if i < n {
			r.client.send(o(i).code(), encodeOperation(o(i)))
		}
		if i >= depth {
			if p, err := r.client.receive(); err != nil || p.err != ok {
				t.Fatal(p.err, err)
			}
		}
	}
}

func (r *runner) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: creates of 200 bytes one at a time %.0f/s, sets of 200 bytes 100 under way %.0f/s (best of %d rounds; all: %.0f and %.0f), ",
		r.name, slices.Max(r.sequential), slices.Max(r.pipelined), len(r.sequential), r.sequential, r.pipelined)
	fmt.Fprintf(&b, "answers %v after its start (best of %d), %d MB resident with more than %d znodes", slices.Min(r.starts).Round(time.Millisecond), len(r.starts), r.resident, znodesHeld)
	return b.String()
}

// residentMB is VmRSS of a process; 0 where the system does not tell.
func residentMB(t *testing.T, pid int) int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil && runtime.GOOS != "linux" {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		var kb int
		if n, _ := fmt.Sscanf(line, "VmRSS: %d kB", &kb); n == 1 {
			return kb / 1024
		}
	}
	t.Fatalf("no VmRSS of %d: %v", pid, err)
	return 0
}
