package files

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/clustertest"
	"kz/internal/fidelity"
	"kz/internal/zktest"
	"kz/zkpaths"
)

func TestMain(m *testing.M) { zktest.Main(m) }

// within is how long anything may take: it is there to end a test that waits for ever.
const within = 2 * time.Minute

// checkpoint is the content of one file on one of Kafka's brokers after a step of the story.
type checkpoint struct {
	After   string
	Broker  int32
	File    string // below the log directory
	Content string
}

// story is the cluster that the story happens to.
type story struct {
	t          *testing.T
	c          *clustertest.InProcess
	zookeeper  string
	afterwards map[string][]checkpoint
	sheet      *fidelity.Sheet
}

// Leaders are stopped, elected cleanly and not, and come back: after each step the
// leader-epoch-checkpoint of both replicas says what Kafka's said, that of a broker which is down
// included. Ref: golden story.json; Kafka 2.8 LeaderEpochFileCache, ReplicaFetcherThread.truncate.
func TestLeaderEpochsThroughElectionsAndTruncation(t *testing.T) {
	s := begin(t)
	one, two := s.c.Brokers[1], s.c.Brokers[2]
	s.topic("epochs")
	s.topic("diverge", "unclean.leader.election.enable", "true")
	s.send("epochs", -1, "e0-a", "e0-b")
	s.send("diverge", -1, "both-a", "both-b")
	s.check("create, epoch 0")

	two.Stop()
	s.inSync("diverge", 1)
	s.send("diverge", 1, "only-1-a", "only-1-b", "only-1-c")
	s.check("broker 2 stopped")

	one.Stop()
	two.Start()
	s.leader("diverge", 2)
	s.send("diverge", 1, "only-2-a", "only-2-b")
	s.check("unclean election on broker 2")

	one.Start()
	s.inSync("diverge", 2)
	s.inSync("epochs", 2)
	s.send("diverge", -1, "again-both")
	s.send("epochs", -1, "e-after-restarts")
	s.check("broker 1 back")

	one.Stop()
	s.leader("epochs", 2)
	s.send("epochs", 1, "led-by-2")
	s.check("broker 1 stopped once more")

	one.Start()
	s.inSync("epochs", 2)
	s.elect("epochs")
	s.leader("epochs", 1)
	s.check("preferred election, nothing written yet")

	s.send("epochs", -1, "after-election")
	s.check("written in the new epoch")

	s.knows(2, "epochs", 5)
	two.Stop()
	one.Stop()
	for _, m := range []*clustertest.Member{one, two} {
		checkLogDir(s, m.LogDir, filepath.Join("testdata", clustertest.NodeName(m.ID)))
	}
}

func begin(t *testing.T) *story {
	t.Helper()
	zk := zktest.Shared(t)
	s := &story{t: t, zookeeper: zk.Addr + zk.Chroot(), afterwards: map[string][]checkpoint{}, sheet: fidelity.Open(t, "files/epochs")}
	f, err := os.Open("testdata/epochs.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var c checkpoint
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		s.afterwards[c.After] = append(s.afterwards[c.After], c)
	}
	// A last replica's controlled shutdown cannot succeed; Kafka tries three times, 5 s apart.
	s.c = clustertest.StartInProcess(t, s.zookeeper, 3, map[string]string{"controlled.shutdown.retry.backoff.ms": "100"})
	return s
}

// topic is one partition on brokers 1 and 2; configs are pairs of a key and its value.
func (s *story) topic(name string, configs ...string) {
	s.t.Helper()
	cl := s.c.Client()
	clustertest.Eventually(s.t, within, "topic "+name, func() (bool, string) {
		err := clustertest.CreateAssigned(cl, name, [][]int32{{1, 2}}, append(configs, "segment.index.bytes", "1200", "index.interval.bytes", "64")...)
		return err == nil, fmt.Sprint(err)
	})
	s.inSync(name, 2)
}

// send makes one batch of each value.
func (s *story) send(topic string, acks int, values ...string) {
	s.t.Helper()
	required := kgo.AllISRAcks()
	if acks == 1 {
		required = kgo.LeaderAck()
	}
	cl := s.c.Client(kgo.RequiredAcks(required), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	for _, v := range values {
		ctx, cancel := context.WithTimeout(s.t.Context(), within)
		r := &kgo.Record{Topic: topic, Key: []byte(v), Value: []byte("value " + v), Timestamp: time.UnixMilli(1600000000000)}
		err := cl.ProduceSync(ctx, r).FirstErr()
		cancel()
		if err != nil {
			s.t.Fatalf("sending %s: %v", v, err)
		}
	}
}

func (s *story) inSync(topic string, n int) {
	s.t.Helper()
	clustertest.AwaitISR(s.t, s.c.Client(), topic, n, within)
}

func (s *story) leader(topic string, id int32) {
	s.t.Helper()
	cl := s.c.Client()
	clustertest.Eventually(s.t, within, fmt.Sprintf("broker %d to lead %s", id, topic), func() (bool, string) {
		ps, err := clustertest.Partitions(cl, topic)
		if err != nil || len(ps) == 0 {
			return false, fmt.Sprint(err)
		}
		return ps[0].Leader == id, fmt.Sprint(ps)
	})
}

// knows waits until a follower has been told the high watermark, with a fetch that a follower answers.
func (s *story) knows(broker int32, topic string, highWatermark int64) {
	s.t.Helper()
	cl := s.c.Client()
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.MaxWaitMillis, req.MaxBytes, req.SessionEpoch = 11, 0, 1<<20, -1
	p := kmsg.NewFetchRequestTopicPartition()
	p.PartitionMaxBytes = 1 << 20
	req.Topics = []kmsg.FetchRequestTopic{{Topic: topic, Partitions: []kmsg.FetchRequestTopicPartition{p}}}
	clustertest.Eventually(s.t, within, fmt.Sprintf("broker %d to know the high watermark of %s", broker, topic), func() (bool, string) {
		resp, err := cl.Broker(int(broker)).Request(s.t.Context(), req)
		if err != nil {
			return false, err.Error()
		}
		got := resp.(*kmsg.FetchResponse).Topics[0].Partitions[0].HighWatermark
		return got == highWatermark, fmt.Sprint(got)
	})
}

// elect asks for the preferred leader through ZooKeeper.
func (s *story) elect(topic string) {
	s.t.Helper()
	zk := clustertest.Znodes(s.t, s.zookeeper)
	data := zkpaths.EncodePreferredElection([]zkpaths.TopicPartition{{Topic: topic}})
	if err := zk.CreateRecursive(s.t.Context(), zkpaths.PreferredReplicaElection, data); err != nil {
		s.t.Fatal(err)
	}
}

// check compares the files after a step, on brokers that run and that do not.
func (s *story) check(after string) {
	s.t.Helper()
	if len(s.afterwards[after]) == 0 {
		s.t.Fatalf("nothing is known about %q", after)
	}
	for _, want := range s.afterwards[after] {
		path := filepath.Join(s.c.Brokers[want.Broker].LogDir, want.File)
		var got string
		clustertest.Eventually(s.t, within, fmt.Sprintf("after %q, broker %d, %s to be %q", after, want.Broker, want.File, want.Content), func() (bool, string) {
			b, err := os.ReadFile(path)
			got = string(b)
			return err == nil && got == want.Content, fmt.Sprintf("%q %v", got, err)
		})
		s.sheet.Add("`leader-epoch-checkpoint` of both replicas through elections", after, fidelity.Same, "")
	}
}
