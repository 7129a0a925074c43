package admin

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"kz/internal/zk"
	"kz/zkpaths"
)

// changeExpiration is how long a notification stays for brokers that were away.
const changeExpiration = 15 * time.Minute

// Changes watches /config/changes and has each change applied. Mirrors
// ZkNodeChangeNotificationListener and DynamicConfigManager.
//
// A notification names an entity, not its new config: the config is read when the
// notification is handled, so handling one twice, or late, does no harm. That is why
// a broker that starts may replay all it finds.
type Changes struct {
	store   Store
	configs *Configs
	log     zerolog.Logger

	wake chan struct{} // one slot: something may have changed
	stop context.CancelFunc
	done chan struct{}

	lastExecuted int64 // owned by run: the highest notification handled
}

const changesHandler = "change-notification-/config/changes"

// NewChanges needs Start.
func NewChanges(store Store, configs *Configs, log zerolog.Logger) *Changes {
	return &Changes{store: store, configs: configs, log: log,
		wake: make(chan struct{}, 1), done: make(chan struct{}), lastExecuted: -1}
}

// Start watches, and handles what is there already, on a goroutine of its own.
func (c *Changes) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	c.stop = cancel
	c.store.RegisterSession(changesHandler, nil, c.poke)
	c.store.RegisterChild(zkpaths.ConfigChanges, func(zk.EventType) { c.poke() })
	c.poke()
	go c.run(ctx)
}

// Stop ends the watch and waits for what is under way. Without Start it does nothing.
func (c *Changes) Stop() {
	if c.stop == nil {
		return
	}
	c.store.UnregisterChild(zkpaths.ConfigChanges)
	c.store.UnregisterSession(changesHandler)
	c.stop()
	<-c.done
}

// poke never blocks: it runs on ZooKeeper's event goroutine.
func (c *Changes) poke() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *Changes) run(ctx context.Context) {
	defer close(c.done)
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
			if err := c.process(ctx); err != nil && ctx.Err() == nil {
				c.log.Error().Err(err).Msg("config change notifications not read")
			}
		}
	}
}

// process handles every notification not handled yet and deletes those that expired.
// Reading the children arms the watch again, before anything is handled.
func (c *Changes) process(ctx context.Context) error {
	names, err := c.store.Children(ctx, zkpaths.ConfigChanges, true)
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		n, err := changeNumber(name)
		if err != nil {
			c.log.Warn().Str("node", name).Msg("strange node below /config/changes")
			continue
		}
		if n <= c.lastExecuted {
			continue
		}
		if err := c.handle(ctx, name); err != nil {
			if ctx.Err() != nil || errors.Is(err, zk.ErrClosed) || errors.Is(err, zk.SessionExpired) {
				return err // not handled: a new session begins here again
			}
			c.log.Error().Err(err).Str("node", name).Msg("config change not applied")
		}
		c.lastExecuted = n
	}
	return c.purge(ctx, names)
}

func changeNumber(name string) (int64, error) {
	prefix := path.Base(zkpaths.ConfigChangePrefix)
	if !strings.HasPrefix(name, prefix) {
		return 0, fmt.Errorf("no %s", prefix)
	}
	return strconv.ParseInt(name[len(prefix):], 10, 64)
}

func (c *Changes) handle(ctx context.Context, name string) error {
	data, _, err := c.store.Get(ctx, zkpaths.ConfigChanges+"/"+name)
	if errors.Is(err, zk.NoNode) {
		return nil // somebody purged it
	}
	if err != nil {
		return err
	}
	entity, err := zkpaths.DecodeConfigChange(data)
	if err != nil {
		return err
	}
	kind, entityName, _ := strings.Cut(entity, "/")
	c.log.Info().Str("entity", entity).Msg("config changed")
	switch kind {
	case zkpaths.EntityTopics:
		return c.configs.applyTopic(ctx, entityName)
	case zkpaths.EntityBrokers:
		if entityName == zkpaths.EntityDefault || entityName == c.configs.brokerName() {
			return c.configs.applyBroker(ctx, entityName)
		}
		return nil // another broker's
	case zkpaths.EntityClients, zkpaths.EntityUsers, zkpaths.EntityIPs:
		c.log.Warn().Str("entity", entity).Msg("quotas and credentials are without effect: kz has none yet")
		return nil
	}
	return fmt.Errorf("config change of unknown kind %q", entity)
}

// purge deletes expired notifications. Any broker does; who comes second finds nothing.
func (c *Changes) purge(ctx context.Context, names []string) error {
	now := time.Now()
	for _, name := range names {
		if _, err := changeNumber(name); err != nil {
			continue // not ours to delete
		}
		node := zkpaths.ConfigChanges + "/" + name
		_, stat, err := c.store.Get(ctx, node)
		if errors.Is(err, zk.NoNode) {
			continue
		}
		if err != nil {
			return err
		}
		if now.Sub(time.UnixMilli(stat.Ctime)) <= changeExpiration {
			continue
		}
		if err := c.store.Delete(ctx, node, zk.AnyVersion); err != nil && !errors.Is(err, zk.NoNode) {
			return err
		}
	}
	return nil
}
