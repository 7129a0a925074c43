package broker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"kz/broker/admin"
	"kz/broker/api"
	"kz/broker/commitlog"
	"kz/broker/config"
	"kz/broker/fetcher"
	"kz/broker/group"
	"kz/broker/metadata"
	"kz/broker/network"
	"kz/broker/replica"
	"kz/controller"
	"kz/internal/journal"
	"kz/internal/topic"
	"kz/internal/zk"
	"kz/zkpaths"
)

// fetchSessionEviction is how long a fetch session is safe from being evicted, as fixed
// in Kafka's code.
const fetchSessionEviction = 2 * time.Minute

// Start follows Kafka's order step by step, because others see it in ZooKeeper: the port
// is bound before the registration says where it is, meta.properties is written only
// after the registration succeeded, and requests are served last. On an error everything
// started is stopped again. When it returns nil the broker serves.
func (b *Broker) Start(ctx context.Context) error {
	begin := time.Now()
	if err := b.start(ctx); err != nil {
		b.stopRooms()
		return err
	}
	b.started = true
	b.log.Info().Str("cluster", b.clusterID).Int("pid", os.Getpid()).Stringer("took", time.Since(begin).Round(time.Millisecond)).Msg("started")
	if b.journal.On() {
		b.journal.Emit(journal.Event{Kind: journal.BrokerStarted, Source: "broker"})
	}
	return nil
}

func (b *Broker) start(ctx context.Context) error {
	raiseFileLimit(b.log)
	if err := b.connectZooKeeper(ctx); err != nil {
		return err
	}
	if err := b.identify(ctx); err != nil {
		return err
	}
	cfg, err := b.loadConfigs(ctx)
	if err != nil {
		return err
	}
	if err := b.logs.Load(func(topic string) (commitlog.Config, bool) { return b.configs.TopicConfig(topic), true }); err != nil {
		return err
	}
	b.logs.Start()
	b.metadata = metadata.NewCache(b.ID())
	if err := b.listen(cfg); err != nil {
		return err
	}
	b.startReplicas(cfg)
	if err := b.join(ctx, cfg); err != nil {
		return err
	}
	if err := b.startGroups(ctx); err != nil {
		return err
	}
	b.serve(cfg)
	return b.Err()
}

// connectZooKeeper opens the session and makes sure that the top-level paths exist.
func (b *Broker) connectZooKeeper(ctx context.Context) error {
	b.log.Info().Str("connect", strings.Join(b.cfg.Zk.Servers, ",")+b.cfg.Zk.Chroot).
		Stringer("at-most", b.cfg.Zk.ConnectionTimeout).Msg("connecting to zookeeper")
	var err error
	if b.zk, err = zk.Connect(ctx, b.cfg.Zk, b.network, b.journal, b.log.With().Str("room", "zk").Logger()); err != nil {
		return err
	}
	for _, path := range zkpaths.PersistentPaths() {
		if err := b.zk.CreateRecursive(ctx, path, nil); err != nil && !errors.Is(err, zk.NodeExists) {
			return fmt.Errorf("create %s: %w", path, err)
		}
	}
	return nil
}

// identify finds out which cluster and which broker this is, from ZooKeeper, the config
// and meta.properties, and refuses contradictions.
func (b *Broker) identify(ctx context.Context) (err error) {
	if b.clusterID, err = getOrMakeClusterID(ctx, b.zk); err != nil {
		return err
	}
	b.log.Info().Str("cluster", b.clusterID).Msg("cluster id")
	if b.logs, err = commitlog.NewManager(b.cfg.Logs, b.journal, b.log.With().Str("room", "commitlog").Logger()); err != nil {
		return err
	}
	stored, err := b.logs.MetaProperties()
	if err != nil {
		return err
	}
	if err := checkClusterID(stored, b.clusterID); err != nil {
		return err
	}
	source, err := chooseBrokerID(b.cfg, stored)
	if err != nil {
		return err
	}
	switch source {
	case idStored:
		b.cfg.SetBrokerID(stored.BrokerID)
	case idGenerated:
		id, err := generateBrokerID(ctx, b.zk, b.cfg.ReservedBrokerMaxID)
		if err != nil {
			return err
		}
		b.cfg.SetBrokerID(id)
	}
	b.journal.SetNode(b.ID())
	b.log = b.log.With().Int32("broker", b.ID()).Logger()
	return nil
}

// loadConfigs lays /config/brokers over server.properties. What changes later arrives by
// notification.
func (b *Broker) loadConfigs(ctx context.Context) (*config.Config, error) {
	b.configs = admin.NewConfigs(b.cfg, b.zk, b.log.With().Str("room", "admin").Logger())
	if err := b.configs.LoadBroker(ctx); err != nil {
		return nil, err
	}
	cfg := b.configs.Current()
	b.logs.SetDefaults(cfg.LogDefaults)
	return cfg, nil
}

// listen binds the listeners. Connections are accepted and nothing is read yet: the
// controller connects as soon as we are registered.
func (b *Broker) listen(cfg *config.Config) error {
	server := network.New(cfg.Network, b.network, b.log.With().Str("room", "network").Logger())
	if err := server.Listen(); err != nil {
		return err
	}
	b.server = server
	return nil
}

func (b *Broker) startReplicas(cfg *config.Config) {
	b.replicas = replica.NewManager(cfg.Replica, replica.Deps{
		Logs: b.logs, Metadata: b.metadata, Zk: b.zk, LogConfig: b.configs.TopicConfig,
		Journal: b.journal, Log: b.log, Halt: b.halt,
	})
	b.logs.OnDirFailure(b.replicas.LogDirFailure)
	b.replicas.SetFetchers(fetcher.NewManager(cfg.Fetcher, b.replicas, b.network, b.journal, b.log.With().Str("room", "fetcher").Logger()))
	b.groups = group.New(cfg.Group, group.Deps{Replicas: b.replicas, Journal: b.journal, Log: b.log})
	b.replicas.OnLeadershipChange(b.groups.OnLeadershipChange)
	b.replicas.Start()
}

// join registers the broker, binds the log directories to it, and lets its controller
// stand for election.
func (b *Broker) join(ctx context.Context, cfg *config.Config) error {
	if err := refuseSharedEndpoints(ctx, b.zk, cfg); err != nil {
		return err
	}
	info := brokerInfo(cfg, b.server.Endpoints(), canonicalHostName)
	register := func(ctx context.Context) (int64, error) { return b.register(ctx, info) }
	epoch, err := register(ctx)
	if err != nil {
		return err
	}
	if err := b.logs.WriteMetaProperties(commitlog.MetaProperties{BrokerID: b.ID(), ClusterID: b.clusterID}); err != nil {
		return err
	}
	b.controller = controller.New(cfg.Controller, b.zk, b.network, register, b.journal, b.log)
	b.controller.SetBrokerEpoch(epoch)
	b.controller.Start()
	block, err := claimProducerIDBlock(ctx, b.zk, b.ID())
	if err != nil {
		return err
	}
	b.log.Info().Int64("first", block.first).Int64("last", block.last).Msg("claimed a block of producer ids")
	return nil
}

// startGroups tells the group coordinator how many partitions its topic has: as many as it
// was created with, whatever the config says now.
func (b *Broker) startGroups(ctx context.Context) error {
	a, _, err := admin.NewTopics(b.zk).Assignment(ctx, topic.ConsumerOffsets)
	if err != nil {
		return err
	}
	b.groups.Start(int32(len(a.Partitions)))
	return nil
}

// serve starts what answers requests, and then lets connections read.
func (b *Broker) serve(cfg *config.Config) {
	log := b.log.With().Str("room", "admin").Logger()
	b.admin = admin.NewManager(cfg, b.zk, b.metadata, b.configs, log)
	b.configs.SetAppliers(admin.Appliers{
		SetDefaults: func(c commitlog.Config) {
			b.logs.SetDefaults(c)
			b.controller.SetUncleanElectionDefault(c.UncleanLeaderElection)
		},
		UpdateTopicConfig:     b.replicas.UpdateTopicConfig,
		EnableUncleanElection: b.controller.EnableUncleanElection,
	})
	b.api = api.New(api.Deps{
		Config: cfg, Requests: b.server.Requests(), Replicas: b.replicas,
		Groups: b.groups, Offsets: admin.NewOffsets(b.zk),
		Sessions: replica.NewFetchSessionCache(cfg.FetchSessionSlots, fetchSessionEviction),
		Metadata: b.metadata, Admin: b.admin, Configs: b.configs, Controller: b.controller,
		ClusterID: b.clusterID, Log: b.log.With().Str("room", "api").Logger(),
	})
	b.api.Start()
	b.changes = admin.NewChanges(b.zk, b.configs, log)
	b.changes.Start()
	b.server.Serve()
}
