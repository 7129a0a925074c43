package replica

import (
	"sync"
	"testing"
	"time"

	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// Produce, fetches, elections and time outs at once: every request is answered exactly
// once, and what was acknowledged with acks=all is in the log.
func TestEveryRequestIsAnsweredOnce(t *testing.T) {
	b := newBroker1(t)
	b.lead(tp(0), 1, 2)
	const producers, each = 4, 200
	var wg sync.WaitGroup
	var mu sync.Mutex
	answers := map[[2]int]int{} // by producer and request
	sent := [producers]int{}
	acked := 0
	enough := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return acked >= 50
	}
	stop := make(chan struct{})
	elect := make(chan struct{}, 1)
	timeouts := []time.Duration{0, 20 * time.Millisecond, time.Second}
	for p := range producers {
		wg.Go(func() {
			for i := 0; i < each || !enough(); i++ {
				sent[p]++
				b.m.AppendRecords(timeouts[i%3], all, false, map[topic.Partition][]byte{tp(0): batch(1)}, func(r map[topic.Partition]ProduceResult) {
					mu.Lock()
					defer mu.Unlock()
					answers[[2]int{p, i}]++
					if r[tp(0)].Code == kafkaerr.None {
						acked++
					}
					if len(answers)%50 == 0 {
						select {
						case elect <- struct{}{}:
						default:
						}
					}
				})
			}
		})
	}
	var background sync.WaitGroup
	background.Go(func() { // a follower that is always nearly there
		for {
			select {
			case <-stop:
				return
			default:
				b.fetchNow(2, tp(0), b.status(tp(0)).LogEnd)
			}
		}
	})
	background.Go(func() { // consumers that wait
		for {
			select {
			case <-stop:
				return
			default:
				<-b.fetch(-1, tp(0), b.status(tp(0)).HighWatermark, time.Millisecond)
			}
		}
	})
	background.Go(func() { // elections: two epochs of a reign, then another leader's
		for {
			for _, leader := range []int32{1, 1, 2} {
				select {
				case <-stop:
					return
				case <-elect:
					b.become(tp(0), leader, 1, 2)
				}
			}
		}
	})
	wg.Wait()
	close(stop)
	background.Wait()
	b.stop() // answers who still waits
	mu.Lock()
	defer mu.Unlock()
	for p := range producers {
		for i := range sent[p] {
			if n := answers[[2]int{p, i}]; n != 1 {
				t.Errorf("request %d of producer %d was answered %d times", i, p, n)
			}
		}
	}
}
