package producer

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"kz/internal/fakebroker"
	"kz/internal/kafkaerr"
	"kz/internal/record"
)

// Random refusals, silences, lost connections and moving leaders against the only
// promise there is without idempotence: every record is answered exactly once, one that
// was acknowledged is stored, and nothing is stored that was not sent.
func TestRandomFailures(t *testing.T) {
	for range 5 {
		seed := rand.Uint64()
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { randomFailures(t, seed) })
	}
}

func randomFailures(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	configure := func(c *Config) {
		c.Linger = time.Duration(rng.IntN(3)) * time.Millisecond
		c.BatchSize = 1 + rng.IntN(400)
		c.MaxInFlight = 1 + rng.IntN(5)
		c.BufferMemory = 2000 + rng.IntN(5000)
		c.MaxBlock = time.Hour                                   // a partition without a leader may hold all memory until its batches expire
		c.Compression = record.Codec(rng.IntN(int(record.Zstd))) // zstd's pooled coders hold channels of another bubble
	}
	bubble(t, 3, []int32{1, 2, 3}, configure, func(r *rig) {
		leaders, epoch := []int32{1, 2, 3}, int32(0)
		r.refuse = func(node int32, tp string, _ []string) kafkaerr.Code { // r.mu is held
			switch rng.IntN(12) {
			case 0:
				return kafkaerr.NotEnoughReplicas
			case 1:
				epoch++
				leaders[rng.IntN(3)] = int32(rng.IntN(4)) - 1
				now := append([]int32{}, leaders...)
				for i, l := range now {
					if l == 0 {
						now[i] = 1
					}
				}
				r.cluster.SetTopic("t", fakebroker.Topic{Leaders: now, Epochs: []int32{epoch, epoch, epoch}})
				return kafkaerr.NotLeaderOrFollower
			case 2:
				return kafkaerr.MessageTooLarge
			}
			return kafkaerr.None
		}
		r.silent = func(int32) bool { return rng.IntN(40) == 0 }
		const n = 300
		for i := range int64(n) {
			r.sendTo(int32(i%3), i, fmt.Sprint("v", i))
			if i%50 == 49 {
				r.cluster.Disconnect(int32(i/50%3) + 1)
			}
		}
		r.flush()
		check(r, n)
	})
}

// check compares what the callbacks said with what is stored.
func check(r *rig, n int64) {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	acked := 0
	for i := range n {
		h, ok := r.heard[i]
		if !ok {
			r.t.Errorf("record %d was never answered", i)
			continue
		}
		if h.err != nil {
			continue
		}
		acked++
		tp := fmt.Sprintf("t-%d", i%3)
		if got := r.stored[tp]; h.Offset >= int64(len(got)) || got[h.Offset] != fmt.Sprint("v", i) {
			r.t.Errorf("record %d is said to be at %s@%d, which holds something else", i, tp, h.Offset)
		}
	}
	if acked == 0 {
		r.t.Error("nothing was acknowledged: the test shows nothing")
	}
	r.checkMemory()
}
