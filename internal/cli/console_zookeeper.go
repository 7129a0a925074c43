package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"

	"github.com/rs/zerolog"

	"kz/client/zkconsumer"
	"kz/internal/zk"
	"kz/zkpaths"
)

// oldOnly are the flags that only the consumer of 0.8 has, newOnly those that it does not.
var (
	oldOnly = []string{"blacklist", "delete-consumer-offsets"}
	newOnly = []string{"bootstrap-server", "partition", "offset", "isolation-level"}
)

// oldConsumer is how console-consumer reads with --zookeeper: as the tool of Kafka 0.8
// did, and as the one of 1.1 could for the last time.
type oldConsumer struct {
	cfg       zkconsumer.Config
	forget    bool // the group's offsets, first
	temporary bool // the group has a name of chance: its znodes go in the end
}

// readOld reads the flags of the old tool. Mirrors kafka.tools.ConsoleConsumer of 0.8.2.
func (c *consoleConsumer) readOld(e *env, o *options) (err error) {
	for _, name := range newOnly {
		if o.has(name) {
			return o.die(e, fmt.Sprintf("Option %s and --zookeeper cannot be specified together: the consumer of 0.8 does not have it.", name))
		}
	}
	old := &oldConsumer{forget: o.has("delete-consumer-offsets")}
	scope := map[string]string{}
	for _, name := range []string{"topic", "whitelist", "blacklist"} {
		if scope[name], err = o.str(name); err != nil {
			return exitf(exitFailed, "%v", err)
		}
		if !o.has(name) {
			delete(scope, name)
		}
	}
	if len(scope) != 1 {
		return o.die(e, "Exactly one of whitelist/blacklist/topic is required.")
	}
	props, err := old.properties(o)
	if err != nil {
		return err
	}
	reset, smallest := props["auto.offset.reset"], o.has("from-beginning")
	if smallest && reset != "" && reset != "smallest" {
		return exitf(exitFailed, "Can't simultaneously specify --from-beginning and 'auto.offset.reset=%s', please remove one option", reset)
	} else if smallest {
		props["auto.offset.reset"] = "smallest"
	}
	cfg, unknown, err := zkconsumer.FromProperties(props)
	if err != nil {
		return exitf(exitFailed, "kz console-consumer: %v", err)
	}
	warnUnknown(e, unknown)
	cfg.WhiteList, cfg.BlackList = scope["whitelist"], scope["blacklist"]
	if c.topic = scope["topic"]; c.topic != "" {
		cfg.Topics = []string{c.topic}
	}
	if err := cfg.Check(); err != nil {
		return exitf(exitFailed, "kz console-consumer: %v", err)
	}
	cfg.Client.Network, cfg.Client.Unreachable = e.network, warnUnreachable(e)
	old.cfg, c.old = cfg, old
	return nil
}

// properties joins the file's, the flags' and the group's name.
func (old *oldConsumer) properties(o *options) (map[string]string, error) {
	props, err := o.readProperties("consumer.config")
	if err != nil {
		return nil, err
	}
	maps.Copy(props, keyValues(o.all("consumer-property")))
	if props["zookeeper.connect"], err = o.str("zookeeper"); err != nil {
		return nil, exitf(exitFailed, "%v", err)
	}
	group, err := o.str("group")
	switch {
	case err != nil:
		return nil, exitf(exitFailed, "%v", err)
	case group != "":
		props["group.id"] = group
	case props["group.id"] == "":
		old.temporary = true
		props["group.id"] = fmt.Sprintf("console-consumer-%d", rand.IntN(100000))
	}
	return props, nil
}

// open joins the group. What the tool said in 0.8 it says still: an offset that is there
// would make --from-beginning begin elsewhere.
func (old *oldConsumer) open(ctx context.Context, e *env) (recordSource, error) {
	group := zkpaths.Consumers + "/" + old.cfg.Group
	start, cancel := context.WithTimeout(ctx, old.cfg.ZooKeeper.ConnectionTimeout)
	defer cancel()
	var found bool
	err := old.inZooKeeper(start, e, func(z *zk.Client) (err error) {
		if old.forget {
			return z.DeleteRecursive(start, group, zk.NoFence)
		}
		_, found, err = z.Exists(start, group+"/offsets")
		return err
	})
	switch {
	case err != nil:
		return nil, old.unanswered(ctx, err)
	case found && old.cfg.Smallest:
		return nil, exitf(exitFailed, "Found previous offset information for this group %s. Please use --delete-consumer-offsets to delete previous offsets metadata", old.cfg.Group)
	}
	c, err := zkconsumer.New(start, old.cfg, e.network)
	if err != nil {
		return nil, old.unanswered(ctx, err)
	}
	return &oldSource{Consumer: c, old: old, e: e}, nil
}

func (old *oldConsumer) unanswered(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return &exitError{code: exitInterrupted}
	}
	at := strings.Join(old.cfg.ZooKeeper.Servers, ",") + old.cfg.ZooKeeper.Chroot
	return exitf(exitFailed, "kz console-consumer: ZooKeeper at %s: %v", at, err)
}

// inZooKeeper runs do in a session of its own.
func (old *oldConsumer) inZooKeeper(ctx context.Context, e *env, do func(*zk.Client) error) error {
	z, err := zk.Connect(ctx, old.cfg.ZooKeeper, e.network, nil, zerolog.Nop())
	if err != nil {
		return err
	}
	defer z.Close()
	if err := do(z); err != nil && !errors.Is(err, zk.NoNode) {
		return err
	}
	return nil
}

// oldSource is the member, and what it leaves behind.
type oldSource struct {
	*zkconsumer.Consumer
	old *oldConsumer
	e   *env
}

// Close leaves the group. Nobody comes back for a group with a name of chance, so its
// znodes are removed.
func (s *oldSource) Close() error {
	err := s.Consumer.Close()
	if !s.old.temporary {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.old.cfg.ZooKeeper.ConnectionTimeout)
	defer cancel()
	return errors.Join(err, s.old.inZooKeeper(ctx, s.e, func(z *zk.Client) error {
		return z.DeleteRecursive(ctx, zkpaths.Consumers+"/"+s.old.cfg.Group, zk.NoFence)
	}))
}
