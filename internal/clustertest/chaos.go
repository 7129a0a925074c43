package clustertest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// A Report is what a schedule came to.
type Report struct {
	Schedule Schedule
	Findings []Finding
	Diary    string // what was done when
	Verdict  Verdict
	Reads    int           // records that a consumer was given while all this went on
	Took     time.Duration // virtual
}

// A Finding is a rule that was broken.
type Finding struct {
	Check string // the rule's name, a constant below
	What  string
}

// The checks, by name.
const (
	CheckLost       = "acknowledged records are there"
	CheckDuplicates = "a record sent once is there once"
	CheckOrder      = "acknowledged records are in the order of their sending"
	CheckReplicas   = "replicas are equal to the byte"
	CheckLeaders    = "one leader per epoch"
	CheckEpochs     = "epochs in ZooKeeper do not go back"
	CheckCommitted  = "every member of the ISR has what is below the high watermark"
	CheckReads      = "what was read stays, and was below the high watermark"
	CheckRecovers   = "the cluster recovers"
)

// A read is one record that the consumer was given.
type read struct {
	partition int32
	offset    int64
	value     string
	at        time.Time
}

const chaosTopic = "orders"

// chaosProps are the brokers' properties: failures are noticed in seconds, segments roll often.
func chaosProps(s Schedule) map[string]string {
	return map[string]string{
		"zookeeper.session.timeout.ms":                  "2000",
		"zookeeper.connection.timeout.ms":               "6000",
		"replica.lag.time.max.ms":                       "3000",
		"replica.fetch.backoff.ms":                      "100",
		"replica.socket.timeout.ms":                     "3000",
		"controller.socket.timeout.ms":                  "3000",
		"request.timeout.ms":                            "3000",
		"controlled.shutdown.retry.backoff.ms":          "500",
		"auto.leader.rebalance.enable":                  "false",
		"auto.create.topics.enable":                     "false",
		"replica.high.watermark.checkpoint.interval.ms": "500",
		"num.io.threads":                                "4",
		"log.segment.bytes":                             fmt.Sprint(s.Segment),
		"log.index.size.max.bytes":                      "4096",
		"min.insync.replicas":                           fmt.Sprint(s.MinISR),
	}
}

// RunSchedule makes a cluster, does to it what the schedule says while records are produced and read,
// lets it recover, and looks at what is left. It runs in a bubble.
func RunSchedule(t testing.TB, s Schedule) *Report {
	t.Helper()
	began := time.Now()
	c := NewOn(t, Bubble(t), 3, chaosProps(s))
	who := follow(c, chaosTopic)
	for i := range int32(3) {
		c.Brokers[1+(s.First-1+i)%3].Start()
	}
	cl := c.Client()
	var replicas [][]int32
	for p := range s.Partitions {
		replicas = append(replicas, assignment(p))
	}
	if err := CreateAssigned(cl, chaosTopic, replicas); err != nil {
		t.Fatal(err)
	}
	AwaitISR(t, cl, chaosTopic, 3, 60*time.Second)

	n := newNemesis(c, s, who)
	w := chaosLoad(t, c, s)
	reads := readAlong(c, s.Partitions)
	n.run()
	r := &Report{Schedule: s}
	r.drain(c, s, w)
	seen := reads()
	r.Reads, r.Diary = len(seen), n.Diary()
	r.judge(c, s, w, seen, who.Entries())
	r.Took = time.Since(began)
	return r
}

func chaosLoad(t testing.TB, c *InProcess, s Schedule) *Workload {
	opts := []kgo.Opt{kgo.ProduceRequestTimeout(2 * time.Second), kgo.RequestTimeoutOverhead(time.Second), kgo.RecordDeliveryTimeout(20 * time.Second), kgo.MetadataMaxAge(2 * time.Second)}
	if !s.Retries {
		opts = append(opts, kgo.RecordRetries(0), kgo.RequestRetries(0))
	}
	w := newWorkload(t, c.Seeds(), chaosTopic, s.Partitions, kgo.AllISRAcks(), c.reach(opts)...)
	w.Pace = 20 * time.Millisecond
	w.start(10, 40)
	return w
}

// readAlong consumes from now on; the function it returns ends that and says what came.
func readAlong(c *InProcess, partitions int32) (stop func() []read) {
	from := map[int32]kgo.Offset{}
	for p := range partitions {
		from[p] = kgo.NewOffset().AtStart()
	}
	cl := c.Client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{chaosTopic: from}), kgo.FetchMaxWait(500*time.Millisecond), kgo.MetadataMaxAge(2*time.Second))
	ctx, cancel := context.WithCancel(context.Background())
	var out []read
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			fetches := cl.PollFetches(ctx)
			now := time.Now()
			fetches.EachRecord(func(r *kgo.Record) { out = append(out, read{r.Partition, r.Offset, string(r.Value), now}) })
		}
	})
	return func() []read {
		cancel()
		wg.Wait()
		cl.Close()
		return out
	}
}

// drain waits until the cluster is whole, ends the load, and waits until the replicas agree.
func (r *Report) drain(c *InProcess, s Schedule, w *Workload) {
	zk := c.Znodes()
	whole := func() (bool, string) {
		states, err := States(zk, chaosTopic, s.Partitions)
		if err != nil {
			return false, err.Error()
		}
		for p, st := range states {
			if st.Leader < 0 || len(st.ISR) != 3 {
				return false, fmt.Sprintf("partition %d: %s", p, st.Encode())
			}
		}
		return true, ""
	}
	if ok, why := await(60*time.Second, whole); !ok {
		r.find(CheckRecovers, "not all replicas are in the ISR a minute after the last fault: %s", why)
	}
	for _, m := range c.Sorted() {
		if ok, why := await(20*time.Second, func() (bool, string) { return m.Knows(chaosTopic, s.Partitions) }); !ok {
			r.find(CheckRecovers, "broker %d, asked for metadata: %s", m.ID, why)
		}
	}
	w.Stop()
	for p := range s.Partitions {
		for _, id := range []int32{2, 3} {
			ok, why := await(20*time.Second, func() (bool, string) {
				return sameLog(c.Brokers[1].LogDir, c.Brokers[id].LogDir, chaosTopic, p)
			})
			if !ok {
				r.find(CheckReplicas, "%s", why)
			}
		}
	}
}

// judge holds everything that was seen against the rules.
func (r *Report) judge(c *InProcess, s Schedule, w *Workload, seen []read, entries []Entry) {
	stored := map[int32]map[int64]string{}
	for p := range s.Partitions {
		var all map[int64]string
		ok, why := await(30*time.Second, func() (bool, string) { // OFFSET_NOT_AVAILABLE is normal after an election
			var err error
			all, err = readAll(c.t, c.Seeds(), chaosTopic, p, c.reach(nil)...)
			return err == nil, fmt.Sprint(err)
		})
		if !ok {
			r.find(CheckRecovers, "partition %d cannot be read: %s", p, why)
			continue
		}
		stored[p] = all
		r.Verdict.judge(w.Acks(p), all)
		r.findAll(CheckOrder, outOfOrder(w.Acks(p)))
	}
	r.findAll(CheckLost, r.Verdict.Lost)
	if !s.Retries && r.Verdict.Duplicates > 0 {
		r.find(CheckDuplicates, "%d records are there twice", r.Verdict.Duplicates)
	}
	if r.Verdict.Acked == 0 && len(stored) == int(s.Partitions) {
		r.find(CheckRecovers, "nothing was ever acknowledged")
	}
	txns := c.Txns()
	r.findAll(CheckLeaders, twoLeaders(entries))
	_, wrong := Reigns(txns)
	r.findAll(CheckEpochs, append(wrong, EpochsBackwards(txns)...))
	r.findAll(CheckCommitted, uncommitted(entries, txns, chaosTopic))
	r.findAll(CheckReads, badReads(entries, seen, stored, chaosTopic))
}

func (r *Report) find(check, format string, args ...any) {
	r.Findings = append(r.Findings, Finding{check, fmt.Sprintf(format, args...)})
}

// findAll adds the first few.
func (r *Report) findAll(check string, what []string) {
	for i, x := range what {
		if i == 3 {
			r.find(check, "and %d more", len(what)-i)
			return
		}
		r.find(check, "%s", x)
	}
}

// Broke says whether the rule of a check was broken.
func (r *Report) Broke(check string) bool {
	for _, f := range r.Findings {
		if f.Check == check {
			return true
		}
	}
	return false
}

func (r *Report) String() string {
	s := r.Schedule.String() + "what was done:\n" + r.Diary + "\n"
	for _, f := range r.Findings {
		s += fmt.Sprintf("BROKEN %s: %s\n", f.Check, f.What)
	}
	return s
}
