package cli

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	ucli "github.com/urfave/cli/v2"

	"kz/client"
	"kz/client/admin"
	"kz/client/witness"
	"kz/internal/up"
)

const (
	whichPartitions = 30
	whichWait       = 2 * time.Minute // for each step: two JVMs on a small machine take their time
)

// whichResult is what which-is-go comes to.
type whichResult struct {
	demoReport
	Go           []int32        `json:"go"`   // the brokers that are kz
	Java         []int32        `json:"java"` // those that run Apache Kafka
	Kills        []whichKill    `json:"kills"`
	Answers      witness.Report `json:"answers"`
	LogsEqual    int            `json:"logsEqual"` // partitions whose three logs are the same bytes
	Acknowledged int            `json:"acknowledged"`
	Lost         []string       `json:"lost"`
}

// A whichKill is one broker that was killed, and how the others took it.
type whichKill struct {
	Broker     int32 `json:"broker"`
	Controller bool  `json:"controller"`
	Led        int   `json:"led"`       // partitions
	ElectedMs  int64 `json:"electedMs"` // until all of them had other leaders
	ServesMs   int64 `json:"servesMs"`  // until the broker, started again, served
	InSyncMs   int64 `json:"inSyncMs"`  // until it was in sync everywhere
	Controls   int32 `json:"controls"`  // who is the controller afterwards
	Acked      int   `json:"acked"`     // records acknowledged meanwhile
}

// whichFlags is the flag that only this demo has.
func whichFlags(d *demo) []ucli.Flag {
	seats := 1
	d.tell = func(ctx context.Context, n *narrator, dir string) (outcome, error) {
		if seats != 1 && seats != 2 {
			return nil, exitf(exitUsage, "kz demo which-is-go: --kz %d: of the three brokers 1 is kz, or 2 are.", seats)
		}
		return whichIsGo(ctx, n, dir, seats)
	}
	return []ucli.Flag{&ucli.IntFlag{Name: "kz", Value: 1, Usage: "how many of the three brokers are kz: `N` is 1 or 2", Destination: &seats}}
}

// whichStory is what the acts of which-is-go share.
type whichStory struct {
	*stage
	result whichResult
	seats  *whichSeats
	load   *demoLoad
}

// whichIsGo is the whole story.
func whichIsGo(ctx context.Context, n *narrator, dir string, kz int) (outcome, error) {
	apache, err := up.FindApache()
	if err != nil {
		return nil, exitf(exitUnknown, "kz demo which-is-go: skipped, for it needs Apache Kafka beside kz: %v.", err)
	}
	s := &whichStory{stage: &stage{narrator: n}}
	for i, id := range rand.Perm(3) {
		if id := int32(id + 1); i < kz {
			s.result.Go = append(s.result.Go, id)
		} else {
			s.result.Java = append(s.result.Java, id)
		}
	}
	if s.profile, err = whichProfile(); err != nil {
		return nil, err
	}
	s.result.Changed = s.profile.Changed
	if s.seats, err = newWhichSeats(dir, s.profile, apache, s.result.Go, s.result.Java); err != nil {
		return nil, err
	}
	defer s.seats.kill()
	s.cluster = s.seats.cluster
	if err := s.begin(ctx, kz); err != nil {
		return nil, err
	}
	defer s.zk.Close()
	s.load = newDemoLoad(s.seats.bootstrap(), demoTopic)
	s.load.spread = whichPartitions
	defer s.load.close()
	for _, act := range []func(context.Context) error{s.createTopic, s.killEach, s.interrogate, s.compareLogs, s.compare} {
		if err := act(ctx); err != nil {
			return nil, err
		}
	}
	s.reveal()
	return &s.result, nil
}

// whichProfile is the class profile with sessions that outlast the pauses of a JVM that shares two cores.
// Topics come only from those who create them, and leaders move only when somebody is killed.
func whichProfile() (up.Profile, error) {
	p, err := demoProfile()
	if err != nil {
		return p, err
	}
	changed := []up.Setting{
		{Key: "auto.create.topics.enable", Value: "false", Kafka: "true"},
		{Key: "auto.leader.rebalance.enable", Value: "false", Kafka: "true"},
		{Key: "offsets.topic.num.partitions", Value: "1", Kafka: "50"},
	}
	for _, c := range p.Changed {
		switch c.Key {
		case "zookeeper.session.timeout.ms":
			c.Value = "4000"
		case "replica.lag.time.max.ms":
			c.Value = "6000"
		}
		changed = append(changed, c)
	}
	p.Changed = changed
	return p, nil
}

func (s *whichStory) begin(ctx context.Context, kz int) (err error) {
	who := "two run Apache Kafka 2.8.2 (Java), one is kz (Go)"
	if kz == 2 {
		who = "one runs Apache Kafka 2.8.2 (Java), two are kz (Go)"
	}
	s.say("Starting a ZooKeeper and three brokers: %s.\nChance decided which is which. It is told at the end; guess before.", who)
	fmt.Fprintf(s.e.stderr, "         ... until all of them serve (at most %v)\n", whichWait)
	starting, cancel := context.WithTimeout(ctx, whichWait)
	defer cancel()
	if err := s.seats.start(starting); err != nil {
		return err
	}
	s.zk, err = openZk(ctx, s.e, s.cluster.ZooKeeper())
	return err
}

// createTopic spreads the partitions so that each broker leads a third.
func (s *whichStory) createTopic(ctx context.Context) error {
	a := admin.New(client.DefaultConfig(s.seats.bootstrap()...))
	defer a.Close()
	t := admin.NewTopic{Name: demoTopic, Configs: map[string]string{"min.insync.replicas": "2"}}
	for p := range int32(whichPartitions) {
		t.Assignment = append(t.Assignment, []int32{p%3 + 1, (p+1)%3 + 1, (p+2)%3 + 1})
	}
	ctx, cancel := context.WithTimeout(ctx, whichWait)
	defer cancel()
	if err := a.CreateTopic(ctx, t); err != nil {
		return err
	}
	reign, err := s.readController(ctx)
	if err != nil {
		return err
	}
	s.say("Broker %d is the controller. Topic %s has %d partitions, each on all three brokers,\nwhich lead ten each. A producer writes with acks=all from now on.", reign.id, demoTopic, whichPartitions)
	return s.load.sendMany(ctx, 1000)
}

// interrogate asks every broker the same, once all is quiet. A session that a slow machine loses meanwhile
// makes the answers those of different moments: they are asked again.
func (s *whichStory) interrogate(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, whichWait)
	defer cancel()
	w, err := witness.New(ctx, s.e.network, s.seats.addrs)
	if err != nil {
		return err
	}
	defer w.Close()
	for still := false; !still; {
		if err := s.leadersBack(ctx); err != nil {
			return err
		}
		var scene witness.Scene
		if err := s.await(ctx, "all replicas have to be equally far", whichWait, func() (quiet bool, err error) {
			scene, quiet, err = w.Look(ctx, demoTopic)
			return quiet, err
		}); err != nil {
			return err
		}
		if s.result.Answers, err = w.Compare(ctx, scene); err != nil {
			return err
		}
		after, quiet, err := w.Look(ctx, demoTopic)
		if err != nil {
			return err
		}
		still = quiet && after.Equal(scene)
	}
	r := s.result.Answers
	s.say("Each broker was asked the same. Answers that are the same / different, by pair of brokers:\n%s", whichTable(r))
	s.result.must(r.Same() > 0, "nothing was compared")
	s.result.must(r.Different() == 0, "%d answers differ, the first: %s", r.Different(), strings.Join(r.Differences[:min(1, len(r.Differences))], ""))
	return nil
}

func whichTable(r witness.Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-16s", "")
	for _, p := range r.Pairs {
		fmt.Fprintf(&b, "%14s", fmt.Sprintf("%d and %d", p.A, p.B))
	}
	for _, row := range r.Rows {
		fmt.Fprintf(&b, "\n%-16s", row.Sort)
		for i := range r.Pairs {
			fmt.Fprintf(&b, "%14s", fmt.Sprintf("%d / %d", row.Same[i], row.Different[i]))
		}
	}
	return b.String()
}

// compareLogs looks at the files below the brokers.
func (s *whichStory) compareLogs(context.Context) error {
	var unlike []string
	for p := range whichPartitions {
		dir := fmt.Sprintf("%s-%d", demoTopic, p)
		switch same, err := s.seats.sameLog(dir); {
		case err != nil:
			return err
		case same:
			s.result.LogsEqual++
		default:
			unlike = append(unlike, dir)
		}
	}
	s.result.must(len(unlike) == 0, "the logs of %s are not the same bytes on all brokers", strings.Join(unlike, ", "))
	s.say("On disk: the logs of %d of %d partitions are the same bytes on all three brokers.", s.result.LogsEqual, whichPartitions)
	return nil
}

// compare reads everything and looks for what was acknowledged.
func (s *whichStory) compare(ctx context.Context) error {
	read, err := readAllBack(ctx, s.seats.bootstrap(), demoTopic, whichPartitions)
	if err != nil {
		return err
	}
	_, s.result.Acknowledged = s.load.counts()
	s.result.Lost, _ = s.load.audit(read)
	s.result.must(len(s.result.Lost) == 0, "%d acknowledged records were lost", len(s.result.Lost))
	s.say("%d records acknowledged with acks=all, %d of them can be read: %d lost.", s.result.Acknowledged, s.result.Acknowledged-len(s.result.Lost), len(s.result.Lost))
	return nil
}

// reveal says which is which, and what would have told.
func (s *whichStory) reveal() {
	s.say("Go: broker %s. Java: broker %s.", andList(s.result.Go), andList(s.result.Java))
	r := s.result.Answers
	gone, java := s.result.Go[0], s.result.Java[0]
	s.say("What would have told: a stopwatch (started again, Go served after %.1f s, Java after %.1f s),\nand ApiVersions, which lists %d APIs there and %d here: of those that kz does not serve yet\nnothing was asked, nor of the earlier versions that it leaves out of %s.",
		seconds(s.served(gone)), seconds(s.served(java)), r.APIs[java], r.APIs[gone], strings.Join(r.Narrowed, ", "))
}

func andList(of []int32) string { return strings.ReplaceAll(ids(of), ",", " and broker ") }

// served is how long a broker took to start again.
func (s *whichStory) served(id int32) int64 {
	for _, k := range s.result.Kills {
		if k.Broker == id {
			return k.ServesMs
		}
	}
	return 0
}
