package zk

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"kz/internal/zktest"
)

// A batch of fenced writes, as the controller makes for every partition of a new topic.
// The server does not fsync, so this is what the client and the protocol cost.
func BenchmarkFencedBatch(b *testing.B) {
	for _, inFlight := range []int{1, 10, 100} {
		b.Run(fmt.Sprint("in-flight-", inFlight), func(b *testing.B) {
			s := zktest.Shared(b)
			c, err := Connect(context.Background(), Config{Servers: []string{s.Addr}, Chroot: s.Chroot(), SessionTimeout: 10 * time.Second, ConnectionTimeout: 10 * time.Second, MaxInFlight: inFlight}, nil, nil, zerolog.Nop())
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			for _, r := range c.Do(context.Background(), CreateOp("/controller_epoch", []byte("1")), CreateOp("/n", nil)) {
				if r.Err != nil {
					b.Fatal(r.Err)
				}
			}
			ops := make([]Op, b.N)
			for i := range ops {
				ops[i] = SetOp("/n", []byte(`{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":[1,2,3]}`), AnyVersion).Fenced(0)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for _, r := range c.Do(context.Background(), ops...) {
				if r.Err != nil {
					b.Fatal(r.Err)
				}
			}
		})
	}
}
