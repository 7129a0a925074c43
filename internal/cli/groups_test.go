package cli

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"kz/client"
	"kz/client/admin"
	"kz/client/consumer"
	"kz/client/producer"
	"kz/internal/clustertest"
	"kz/internal/fidelity"
	"kz/internal/zktest"
)

// groupsNotAsKafka are the entries of the transcript that kz answers otherwise, by words
// of the command, with what it prints instead.
var groupsNotAsKafka = []struct{ words, reason, stdout string }{
	{"--describe --group nobody", "Kafka's brokers were still creating __consumer_offsets", "\nError: Consumer group 'nobody' does not exist.\n"},
	{"DIR/bad.csv", "Kafka reads the line as the name of a topic, and the columns that are missing as 0",
		"\nError: Executing consumer group command failed due to line 1 of DIR/bad.csv: \"g1;0;6\": a line is group,topic,partition,offset; with one --group it may start at topic\n"},
}

// kafka-consumer-groups, command by command, against a kz broker: stdout and exit code
// are those that Kafka 2.8.2 gave. Ref: testdata/kafka-consumer-groups.txt.
func TestConsumerGroupsTranscript(t *testing.T) {
	s := newGroupsStory(t)
	sheet := fidelity.Open(t, "tools/consumer-groups")
	for _, e := range transcript(t, "kafka-consumer-groups.txt") {
		s.stage(e.comment)
		want := e.stdout
		line := strings.Join(e.args, " ")
		verdict, why := fidelity.Same, ""
		for _, n := range groupsNotAsKafka {
			if strings.HasSuffix(line, n.words) && !(n.stdout == want) {
				want, e.stderr = n.stdout, ""
				verdict, why = fidelity.Uncompared, "kz says it in other words, which the test has"
			}
		}
		e.enter(sheet, "consumer-groups", verdict, why)
		words := []string{"consumer-groups"}
		for _, w := range e.args {
			words = append(words, strings.NewReplacer("BROKER-1", s.addr, "DIR", s.dir).Replace(w))
		}
		if strings.Contains(line, "g1:9") || strings.Contains(line, "127.0.0.1:1 ") { // nobody has to wait seconds for nobody
			words = slices.DeleteFunc(words, func(w string) bool { return w == "--timeout" || w == "2000" })
			words = append(words, "--timeout", "200")
		}
		stdout, stderr, exit := kz(t, words...)
		if exit != e.exit {
			t.Errorf("%v\nexit %d, want %d; stderr %q", e, exit, e.exit, stderr)
		}
		got, wanted := groupLines(strings.ReplaceAll(stdout, s.dir, "DIR")), groupLines(want)
		if strings.Contains(line, "--describe") || strings.Contains(line, "--all-topics") { // Kafka takes the rows from a hash map
			slices.Sort(got)
			slices.Sort(wanted)
		}
		if !slices.Equal(got, wanted) {
			t.Errorf("%v\nprinted:\n%s\nKafka printed:\n%s", e, strings.Join(got, "\n"), strings.Join(wanted, "\n"))
		}
		checkStderr(t, e, stderr)
		for _, remark := range remarks(e.stderr) {
			if !strings.Contains(stderr, remark) {
				t.Errorf("%v\nstderr %q\nwant it to contain %q", e, stderr, remark)
			}
		}
	}
}

var (
	memberUUID  = regexp.MustCompile(`-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)
	coordinated = regexp.MustCompile(`(BROKER-\d|\S+:\d+) \(\d\)`)
	warning     = regexp.MustCompile(`^\[TIME\] WARN (New offset.*) \(kafka`)
)

// groupLines drops what differs from run to run. A line that has a placeholder in the
// transcript is compared by its words, any other by every blank.
func groupLines(s string) []string {
	out := comparable(s)
	for i, line := range out {
		plain := memberUUID.ReplaceAllString(coordinated.ReplaceAllString(line, "COORDINATOR"), "-UUID")
		if plain != line || strings.Contains(line, "-UUID") {
			out[i] = strings.Join(strings.Fields(plain), " ")
		}
	}
	return out
}

// remarks are the lines on stderr that are not Java's own.
func remarks(stderr string) (out []string) {
	for line := range strings.Lines(stderr) {
		line = strings.TrimSuffix(line, "\n")
		if m := warning.FindStringSubmatch(line); m != nil {
			out = append(out, m[1])
		}
		if strings.HasPrefix(line, "Consumer group") || strings.HasPrefix(line, "Warning:") || strings.HasPrefix(line, "WARN: ") {
			out = append(out, line)
		}
	}
	return out
}

// groupsStory is the cluster, and the members that come and go.
type groupsStory struct {
	t       *testing.T
	addr    string
	dir     string
	a       *admin.Admin
	members map[string]*groupMember
}

type groupMember struct {
	c    *consumer.Consumer
	stop func() // polling
}

func newGroupsStory(t *testing.T) *groupsStory {
	c := clustertest.StartInProcess(t, zktest.Start(t).Addr, 1, map[string]string{
		"offsets.topic.replication.factor": "1", "offsets.topic.num.partitions": "3", "group.initial.rebalance.delay.ms": "0", "auto.create.topics.enable": "false",
	})
	s := &groupsStory{t: t, addr: c.Brokers[1].Addr, dir: t.TempDir(), members: map[string]*groupMember{}}
	for name, text := range map[string]string{
		"one.csv": "g1,0,6\ng1,1,7\n", "two.csv": "live,g1,0,6\nother,g1,1,7\n", "bad.csv": "g1;0;6\n",
		"short.properties": "request.timeout.ms=1000\ndefault.api.timeout.ms=2000\n",
	} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s.a = admin.New(client.DefaultConfig(s.addr))
	t.Cleanup(s.a.Close)
	s.createTopic("g1", 3)
	s.createTopic("g2", 1)
	produce(t, s.addr, "g1", 0, 15, 15)
	produce(t, s.addr, "g2", 3)
	t.Cleanup(func() {
		for name := range s.members {
			s.leave(name)
		}
	})
	return s
}

func (s *groupsStory) createTopic(name string, partitions int32) {
	s.t.Helper()
	if err := s.a.CreateTopic(s.t.Context(), admin.NewTopic{Name: name, Partitions: partitions, ReplicationFactor: 1}); err != nil {
		s.t.Fatal(err)
	}
}

// produce puts so many records into each partition.
func produce(t *testing.T, addr, name string, counts ...int) {
	t.Helper()
	p := producer.New(producer.DefaultConfig(client.DefaultConfig(addr)))
	for partition, n := range counts {
		for range n {
			if err := p.Send(t.Context(), producer.Record{Topic: name, Partition: int32(partition), Value: []byte("m")}, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// stage does what the comments of the transcript say.
func (s *groupsStory) stage(comment string) {
	switch {
	case strings.Contains(comment, "two members m1 and m2"):
		s.join("live", "m1", "", "g1")
		s.until("m1 to be a member", "live", func(d admin.GroupDescription) bool { return len(d.Members) == 1 && d.State == "Stable" })
		s.join("live", "m2", "", "g1")
		s.until("m1 and m2 to be members", "live", func(d admin.GroupDescription) bool {
			return len(d.Members) == 2 && d.State == "Stable" && s.hasRead("live", 0, 15, 15)
		})
	case strings.Contains(comment, "a third member m3"):
		s.members["m1"].stop()
		s.join("live", "m3", "", "g1")
		s.until("m3 to wait for m1", "live", func(d admin.GroupDescription) bool { return len(d.Members) == 3 && d.State == "PreparingRebalance" })
	case strings.Contains(comment, "all members have left"):
		for _, m := range []string{"m1", "m2", "m3"} {
			s.leave(m)
		}
		s.until("the group to be empty", "live", func(d admin.GroupDescription) bool { return d.State == "Empty" })
	case strings.Contains(comment, "static member"):
		s.join("fixed", "s1", "i1", "g2")
		s.until("the static member to read", "fixed", func(d admin.GroupDescription) bool { return d.State == "Stable" && s.hasRead("fixed", 3) })
	case strings.Contains(comment, "reset"):
		s.leave("s1")
		if err := s.a.RemoveStaticMember(s.t.Context(), "fixed", "i1"); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *groupsStory) join(group, clientID, instance, name string) {
	cfg := consumer.DefaultConfig(client.DefaultConfig(s.addr))
	cfg.Client.ClientID, cfg.Group, cfg.InstanceID = clientID, group, instance
	cfg.SessionTimeout, cfg.AutoCommitEvery = 2*time.Minute, 50*time.Millisecond
	cfg.HeartbeatInterval = 100 * time.Millisecond
	c := consumer.New(cfg)
	if err := c.Subscribe([]string{name}, consumer.Listener{}); err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(s.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if _, err := c.Poll(ctx); err != nil {
				return
			}
		}
	}()
	s.members[clientID] = &groupMember{c: c, stop: func() { cancel(); <-done }}
}

func (s *groupsStory) leave(clientID string) {
	m := s.members[clientID]
	delete(s.members, clientID)
	m.stop()
	if err := m.c.Close(); err != nil {
		s.t.Logf("%s: %v", clientID, err)
	}
}

func (s *groupsStory) until(what, group string, true_ func(admin.GroupDescription) bool) {
	s.t.Helper()
	clustertest.Eventually(s.t, 30*time.Second, what, func() (bool, string) {
		d, err := s.a.DescribeGroup(s.t.Context(), group)
		if err != nil {
			return false, err.Error()
		}
		return true_(d), d.State
	})
}

func (s *groupsStory) hasRead(group string, want ...int64) bool {
	offsets, err := s.a.GroupOffsets(s.t.Context(), group)
	n := 0
	for tp, o := range offsets {
		if want[tp.Partition] == o.Offset {
			n++
		}
	}
	return err == nil && n == len(want)
}
