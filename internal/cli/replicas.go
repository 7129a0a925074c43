package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	ucli "github.com/urfave/cli/v2"

	"kz/client"
	"kz/client/admin"
	"kz/internal/kafkaerr"
	"kz/internal/nearest"
)

// replicasWait is how long one broker may take to answer about its copies.
const replicasWait = 5 * time.Second

func replicasCommand(e *env) *ucli.Command {
	return &ucli.Command{
		Name: "replicas", Usage: "show every copy of a topic's partitions: where its log begins and ends, who is in sync",
		UsageText: "kz replicas [--bootstrap-server host:port,...] [-o json] TOPIC",
		Description: "Each broker is asked about its own copies, followers too; nobody answers for another.\n\n" +
			"   LOG START  offset of the first record that is kept\n" +
			"   LSO        last stable offset: where read_committed stops\n" +
			"   HW         high watermark, as this replica knows it: where consumers stop\n" +
			"   LEO        log end offset: where the next record goes\n" +
			"   EPOCH      the leader epoch this replica's broker believes in\n" +
			"   LAG        how far it is behind its leader's LEO; the leader is asked last",
		Flags: []ucli.Flag{
			&ucli.StringFlag{Name: "bootstrap-server", Usage: "brokers to ask first, `HOST:PORT,...`", DefaultText: "the running cluster's"},
			&ucli.StringFlag{Name: "o", Value: "text", Usage: "output `FORMAT`: text or json"},
		},
		OnUsageError: usageError,
		Action: func(c *ucli.Context) error {
			format := c.String("o")
			if format != "text" && format != "json" {
				return exitf(exitUsage, "kz replicas: -o %s: the formats are text and json.", format)
			}
			if c.NArg() != 1 {
				return exitf(exitUsage, "kz replicas: needs one TOPIC. What there is: kz topics --list")
			}
			return runReplicas(c.Context, e, c.String("bootstrap-server"), c.Args().First(), format == "json")
		},
	}
}

// replicaView is one copy. The numbers are nil when nobody could say: its broker is down
// or refused, and -1 or 0 would be an answer that nobody gave.
type replicaView struct {
	Broker        int32   `json:"broker"`
	Role          string  `json:"role"` // "leader", "follower"
	InSync        bool    `json:"inSync"`
	LogStart      *int64  `json:"logStart"`
	LastStable    *int64  `json:"lastStable"`
	HighWatermark *int64  `json:"highWatermark"`
	LogEnd        *int64  `json:"logEnd"`
	Epoch         *int32  `json:"leaderEpoch"`
	Lag           *int64  `json:"lag"`
	Unknown       *string `json:"unknown"` // why there are no numbers: "broker 2 down"
}

type partitionView struct {
	Partition   int32         `json:"partition"`
	Leader      *int32        `json:"leader"` // nil: none
	LeaderEpoch int32         `json:"leaderEpoch"`
	ISR         []int32       `json:"isr"`
	OutOfSync   []int32       `json:"outOfSync"`
	Replicas    []replicaView `json:"replicas"` // the preferred leader first
}

type topicView struct {
	Topic      string          `json:"topic"`
	Partitions []partitionView `json:"partitions"`
}

func runReplicas(ctx context.Context, e *env, servers, name string, asJSON bool) error {
	if servers == "" {
		if servers = runningBootstrap(ctx); servers == "" {
			return exitf(exitNoCluster, "kz replicas: no broker to ask. %s", startOne("--bootstrap-server host:port"))
		}
	}
	bootstrap, err := client.ParseServers(servers)
	if err != nil {
		return exitf(exitUsage, "kz replicas: --bootstrap-server: %v.", err)
	}
	cfg := client.DefaultConfig(bootstrap...)
	cfg.Network, cfg.Unreachable = e.network, nil
	cfg.RequestTimeout, cfg.ConnectTimeout, cfg.APITimeout = replicasWait, replicasWait, 2*replicasWait
	a := admin.New(cfg)
	defer a.Close()
	cluster, err := a.Topics(ctx, "listTopics", nil)
	if err != nil {
		return exitf(exitNoCluster, "kz replicas: no broker at %s answers: %v", servers, err)
	}
	t, there := cluster.Topics[name]
	if !there {
		hint := "What there is: kz topics --list"
		if near := nearest.To(name, cluster.Names()); near != "" {
			hint = fmt.Sprintf("Did you mean %q?", near)
		}
		return exitf(exitFailed, "kz replicas: there is no topic %q (%s). %s", name, kafkaerr.UnknownTopicOrPartition.Name(), hint)
	}
	view := lookAtTopic(ctx, a, cluster, t)
	if asJSON {
		return json.NewEncoder(e.stdout).Encode(view)
	}
	view.print(e)
	return nil
}

// copyOf is one replica of one partition.
type copyOf struct{ partition, broker int32 }

// lookAtTopic asks the followers, then the leaders: so no follower seems to be ahead.
func lookAtTopic(ctx context.Context, a *admin.Admin, cluster *client.Cluster, t client.Topic) topicView {
	ask := map[bool]map[int32][]int32{false: {}, true: {}} // leading? -> broker -> partitions
	for _, p := range t.Partitions {
		for _, b := range p.Replicas {
			ask[b == p.Leader][b] = append(ask[b == p.Leader][b], p.ID)
		}
	}
	seen := askAll(ctx, a, cluster, t.Name, ask[false])
	maps.Copy(seen, askAll(ctx, a, cluster, t.Name, ask[true]))
	view := topicView{Topic: t.Name, Partitions: []partitionView{}}
	for _, p := range t.Partitions {
		view.Partitions = append(view.Partitions, viewOf(p, seen))
	}
	return view
}

// askAll asks all brokers at once, each for its own copies. A broker that the cluster says
// is dead is not asked.
func askAll(ctx context.Context, a *admin.Admin, cluster *client.Cluster, name string, ask map[int32][]int32) map[copyOf]admin.Marks {
	var mu sync.Mutex // guards seen
	seen := map[copyOf]admin.Marks{}
	var wg sync.WaitGroup
	for broker, partitions := range ask {
		wg.Go(func() {
			marks, why := map[int32]admin.Marks{}, error(nil)
			if _, alive := cluster.Brokers[broker]; !alive {
				why = fmt.Errorf("broker %d down", broker)
			} else {
				ctx, cancel := context.WithTimeout(ctx, replicasWait)
				defer cancel()
				if marks, why = a.ReplicaMarks(ctx, broker, name, partitions); errors.Is(why, context.DeadlineExceeded) {
					why = fmt.Errorf("broker %d does not answer within %v", broker, replicasWait)
				} else if why != nil {
					why = fmt.Errorf("broker %d does not answer at %s (%s)", broker, cluster.Brokers[broker].Addr, kafkaerr.CodeOf(why).Name())
				}
			}
			mu.Lock()
			defer mu.Unlock()
			for _, p := range partitions {
				m := marks[p]
				if why != nil {
					m.Err = why
				}
				seen[copyOf{p, broker}] = m
			}
		})
	}
	wg.Wait()
	return seen
}

// viewOf puts together what metadata says of a partition and what its replicas say.
func viewOf(p client.Partition, seen map[copyOf]admin.Marks) partitionView {
	v := partitionView{Partition: p.ID, LeaderEpoch: p.LeaderEpoch, ISR: append([]int32{}, p.ISR...), OutOfSync: []int32{}, Replicas: []replicaView{}}
	if p.Leader != client.NoLeader {
		v.Leader = &p.Leader
	}
	leader, led := seen[copyOf{p.ID, p.Leader}]
	led = led && leader.Err == nil
	for _, b := range p.Replicas {
		r := replicaView{Broker: b, Role: "follower", InSync: slices.Contains(p.ISR, b)}
		if b == p.Leader {
			r.Role = "leader"
		}
		if !r.InSync {
			v.OutOfSync = append(v.OutOfSync, b)
		}
		if m := seen[copyOf{p.ID, b}]; m.Err != nil {
			why := m.Err.Error()
			if refused := new(admin.Error); errors.As(m.Err, &refused) {
				why = fmt.Sprintf("broker %d answers %s", b, refused.Code.Name())
			}
			r.Unknown = &why
		} else {
			r.LogStart, r.LastStable, r.HighWatermark, r.LogEnd, r.Epoch = &m.LogStart, &m.LastStable, &m.HighWatermark, &m.LogEnd, &m.Epoch
			if led {
				lag := leader.LogEnd - m.LogEnd
				r.Lag = &lag
			}
		}
		v.Replicas = append(v.Replicas, r)
	}
	return v
}

func (t topicView) print(e *env) {
	w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "PARTITION\tBROKER\tROLE\tISR\tLOG START\tLSO\tHW\tLEO\tEPOCH\tLAG")
	var notes []string
	for _, p := range t.Partitions {
		for _, r := range p.Replicas {
			inSync := "no"
			if r.InSync {
				inSync = "yes"
			}
			fmt.Fprintf(w, "%d\t%d\t%s\t%s\t", p.Partition, r.Broker, r.Role, inSync)
			if r.Unknown != nil {
				fmt.Fprintf(w, "\t\t\t\t\tunknown, %s\n", *r.Unknown)
				continue
			}
			lag := "unknown"
			if r.Lag != nil {
				lag = fmt.Sprint(*r.Lag)
			}
			fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%d\t%s\n", *r.LogStart, *r.LastStable, *r.HighWatermark, *r.LogEnd, *r.Epoch, lag)
		}
		if p.Leader == nil {
			notes = append(notes, fmt.Sprintf("%s-%d has no leader", t.Topic, p.Partition))
		}
		if len(p.OutOfSync) > 0 {
			notes = append(notes, fmt.Sprintf("%s-%d is out of sync on broker %s", t.Topic, p.Partition, ids(p.OutOfSync)))
		}
	}
	_ = w.Flush() // as every write to stdout: who closed it knows
	if len(notes) > 0 {
		fmt.Fprintln(e.stdout, strings.Join(notes, "\n"))
	}
}
