package zkserver

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"kz/internal/link"
	"kz/internal/zktest"
)

// benchTargets are what a benchmark runs on; the real one is left out where there is none.
var benchTargets = []struct {
	name  string
	start func(b *testing.B) string
}{
	{"embedded-memory", func(b *testing.B) string { return start(b, Config{MaxSessionTimeout: zktestMax}).Addr() }},
	{"embedded-no-fsync", func(b *testing.B) string { return start(b, Config{Dir: b.TempDir(), NoFsync: true}).Addr() }},
	{"embedded-fsync", func(b *testing.B) string { return start(b, Config{Dir: b.TempDir()}).Addr() }},
	{"zookeeper-fsync", func(b *testing.B) string { return zktest.Start(b, zktest.Fsync()).Addr }},
}

func onEach(b *testing.B, run func(b *testing.B, addr string)) {
	for _, target := range benchTargets {
		b.Run(target.name, func(b *testing.B) { run(b, target.start(b)) })
	}
}

var payload = string(make([]byte, 200))

// BenchmarkCreate: one client, one request at a time, 200 bytes.
func BenchmarkCreate(b *testing.B) {
	onEach(b, func(b *testing.B, addr string) {
		c := join(b, addr, connectRequest{timeout: 30000})
		for i := 0; b.Loop(); i++ {
			c.must(create(fmt.Sprint("/n", i), payload))
		}
	})
}

// BenchmarkSetPipelined: one client, 100 requests under way.
func BenchmarkSetPipelined(b *testing.B) {
	onEach(b, func(b *testing.B, addr string) { pipelined(b, addr, set("/a", payload)) })
}

func BenchmarkGetPipelined(b *testing.B) {
	onEach(b, func(b *testing.B, addr string) { pipelined(b, addr, get("/a")) })
}

func BenchmarkGet(b *testing.B) {
	onEach(b, func(b *testing.B, addr string) {
		c := join(b, addr, connectRequest{timeout: 30000})
		c.must(create("/a", payload))
		for b.Loop() {
			c.must(get("/a"))
		}
	})
}

func pipelined(b *testing.B, addr string, o operation) {
	const depth = 100
	c := join(b, addr, connectRequest{timeout: 30000})
	c.must(create("/a", payload))
	body := encodeOperation(o)
	under := 0
	for b.Loop() {
		c.send(o.code(), body)
		if under++; under == depth {
			if _, err := c.receive(); err != nil {
				b.Fatal(err)
			}
			under--
		}
	}
	for range under {
		c.receive()
	}
}

// BenchmarkSetByManyClients: 20 clients, each one request at a time: the batches of the log.
func BenchmarkSetByManyClients(b *testing.B) {
	onEach(b, func(b *testing.B, addr string) {
		const clients = 20
		work := make(chan struct{})
		var wg sync.WaitGroup
		for i := range clients {
			c := join(b, addr, connectRequest{timeout: 30000})
			path := fmt.Sprint("/c", i)
			c.must(create(path, ""))
			wg.Go(func() {
				for range work {
					c.must(set(path, payload))
				}
			})
		}
		for b.Loop() {
			work <- struct{}{}
		}
		close(work)
		wg.Wait()
	})
}

// BenchmarkWatches: 20 clients watch, one sets, all are told.
func BenchmarkWatches(b *testing.B) {
	onEach(b, func(b *testing.B, addr string) {
		writer := join(b, addr, connectRequest{timeout: 30000})
		writer.must(create("/a", ""))
		watchers := make([]*client, 20)
		for i := range watchers {
			watchers[i] = join(b, addr, connectRequest{timeout: 30000})
		}
		for b.Loop() {
			for _, c := range watchers {
				c.must(watching(get("/a")))
			}
			writer.must(set("/a", "x"))
			for _, c := range watchers {
				if p, err := c.receive(); err != nil || p.xid != xidEvent {
					b.Fatal(p, err)
				}
			}
		}
	})
}

// BenchmarkRecovery: a start on a log of 10,000 writes.
func BenchmarkRecovery(b *testing.B) {
	dir := b.TempDir()
	s := start(b, Config{Dir: dir, NoFsync: true})
	c := join(b, s.Addr(), connectRequest{timeout: 30000})
	for i := range 10_000 {
		c.must(create(fmt.Sprint("/n", i), payload))
	}
	s.Stop()
	for b.Loop() {
		if _, _, err := recoverState(dataDir{dir}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStart: from New to the first session, in memory.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		s := New(Config{Addr: "127.0.0.1:0"})
		if err := s.Start(); err != nil {
			b.Fatal(err)
		}
		c, err := link.TCP{}.Dial(context.Background(), s.Addr())
		if err != nil {
			b.Fatal(err)
		}
		c.Close()
		s.Stop()
	}
}
