package fetcher

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"kz/broker/replica"
	"kz/internal/kafkaerr"
	"kz/zkpaths"
)

// Random histories: brokers die and come back, links are cut and mended, leaders are
// elected cleanly from the ISR that is in ZooKeeper, and records are produced with
// acks=all. min.insync.replicas is 2. Whatever happens:
//
//   - a record that was acknowledged is in every later leader's log, in order
//   - when all is well again the replicas are equal byte for byte
//
// Ref: Kafka 2.8's own promise for acks=all, min.insync.replicas=2 and no unclean election.
func TestAcknowledgedRecordsAreNeverLost(t *testing.T) {
	seeds := 30
	if testing.Short() {
		seeds = 5
	}
	first := rand.Uint64()
	acked, elections := 0, 0
	for i := range uint64(seeds) {
		seed := first + i
		synctest.Test(t, func(t *testing.T) {
			h := &history{t: t, rng: rand.New(rand.NewPCG(seed, 0)), c: nil, epoch: -1}
			h.run()
			acked += len(h.acked)
			elections += int(h.epoch)
		})
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if acked < 10*seeds || elections < seeds {
		t.Errorf("%d acknowledged records and %d elections in %d histories: the test tests nothing", acked, elections, seeds)
	}
	t.Logf("%d histories from seed %d: %d acknowledged, %d elections", seeds, first, acked, elections)
}

// history is one run.
type history struct {
	t       *testing.T
	rng     *rand.Rand
	c       *cluster
	leader  int32 // 0: none
	epoch   int32
	next    int // the next record's name
	pending []attempt
	acked   []string
}

// attempt is a record that was produced and not yet answered.
type attempt struct {
	value  string
	answer chan replica.ProduceResult
}

func (h *history) run() {
	h.c = newCluster(h.t, 3)
	defer h.c.close()
	c := h.c
	c.config.MinInsyncReplicas = 2
	h.epoch, h.leader = 0, 1
	c.elect(orders, 1, 0, []int32{1, 2, 3})
	for range 150 {
		h.step()
		time.Sleep(time.Duration(h.rng.IntN(3000)) * time.Millisecond) // virtual
		h.collect()
	}
	c.mu.Lock()
	clear(c.cut)
	c.mu.Unlock()
	for id := range c.brokers {
		h.revive(id)
	}
	wait(2 * time.Minute)
	if h.leader == 0 {
		h.electClean()
	}
	wait(2 * time.Minute)
	h.collect()
	h.check()
	c.same(orders, h.values(h.leader), 1, 2, 3)
}

func (h *history) step() {
	c, id := h.c, 1+int32(h.rng.IntN(3))
	switch h.rng.IntN(10) {
	case 0:
		h.die(id)
	case 1, 2:
		h.revive(id)
	case 3:
		from, to := 1+int32(h.rng.IntN(3)), 1+int32(h.rng.IntN(3))
		c.mu.Lock()
		c.cut[[2]int32{from, to}] = h.rng.IntN(2) == 0
		c.mu.Unlock()
	case 4:
		h.electClean()
	default:
		for range h.rng.IntN(4) {
			h.produce()
		}
	}
}

func (h *history) produce() {
	if h.leader == 0 {
		return
	}
	v := fmt.Sprintf("r%d", h.next)
	h.next++
	h.pending = append(h.pending, attempt{v, h.c.produce(h.leader, orders, all, v)})
}

// collect takes the answers that have come.
func (h *history) collect() {
	synctest.Wait()
	h.pending = slices.DeleteFunc(h.pending, func(a attempt) bool {
		select {
		case r := <-a.answer:
			if r.Code == kafkaerr.None {
				h.acked = append(h.acked, a.value)
			}
			return true
		default:
			return false
		}
	})
}

func (h *history) die(id int32) {
	if !h.c.brokers[id].up {
		return
	}
	h.c.kill(id)
	h.collect()
	if id == h.leader {
		h.leader = 0
		h.electClean()
	}
}

// revive starts a broker, which learns of the partition as a real one does: by the next
// LeaderAndIsr, at the current epoch.
func (h *history) revive(id int32) {
	if h.c.brokers[id].up {
		return
	}
	h.c.start(id)
	if h.leader == 0 {
		h.electClean()
		return
	}
	s, version := h.c.zk.read(h.t, orders)
	h.c.tell(orders, s.Leader, s.LeaderEpoch, s.ISR, version, id)
}

// electClean chooses a live member of the ISR in ZooKeeper, as the controller does, and
// checks at once that it has everything that was acknowledged.
func (h *history) electClean() {
	s, _ := h.c.zk.read(h.t, orders)
	var live []int32
	for _, id := range s.ISR {
		if h.c.brokers[id].up {
			live = append(live, id)
		}
	}
	if len(live) == 0 {
		h.leader = 0
		return
	}
	h.epoch++
	h.leader = live[h.rng.IntN(len(live))]
	// The ISR keeps dead members, as in an election that the leader's death did not
	// cause; the leader will drop them.
	var isr []int32
	for _, id := range s.ISR {
		if h.c.brokers[id].up || h.rng.IntN(2) == 0 {
			isr = append(isr, id)
		}
	}
	// Not everybody hears of it at once.
	told := h.c.ids()
	h.rng.Shuffle(len(told), func(i, j int) { told[i], told[j] = told[j], told[i] })
	version := h.c.zk.write(orders, zkpaths.PartitionState{ControllerEpoch: 1, Leader: h.leader, LeaderEpoch: h.epoch, ISR: isr})
	for _, id := range told {
		h.c.tell(orders, h.leader, h.epoch, isr, version, id)
		time.Sleep(time.Duration(h.rng.IntN(500)) * time.Millisecond) // virtual
	}
	h.collect()
	h.check()
}

func (h *history) values(id int32) []string {
	_, values := h.c.bytes(id, orders)
	return values
}

// check: everything acknowledged is in the leader's log, in order.
func (h *history) check() {
	h.t.Helper()
	got := h.values(h.leader)
	at := 0
	for _, want := range h.acked {
		i := slices.Index(got[at:], want)
		if i < 0 {
			h.t.Fatalf("%s was acknowledged and is not in the log of leader %d at epoch %d (ends at %v)", want, h.leader, h.epoch, got[max(0, len(got)-5):])
		}
		at += i + 1
	}
}
