package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/rs/zerolog"

	"kz/broker/admin"
	"kz/broker/config"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
	"kz/internal/zk"
	"kz/zkpaths"
)

// zkTopics works on the znodes, without a broker: what it writes the controller
// notices by its watches. Mirrors ZookeeperTopicService.
type zkTopics struct {
	e      *env
	zk     *zk.Client
	topics *admin.Topics
}

// zkTimeout is Kafka's for its tools: session and connection.
const zkTimeout = 30 * time.Second

func openZkTopics(ctx context.Context, e *env, connect string) (topicService, error) {
	servers, chroot, err := zk.ParseConnect(connect)
	if err != nil {
		return nil, exitf(exitFailed, "kz topics: %v", err)
	}
	c, err := zk.Connect(ctx, zk.Config{Servers: servers, Chroot: chroot, SessionTimeout: zkTimeout, ConnectionTimeout: zkTimeout, MaxInFlight: 10}, e.network, nil, zerolog.Nop())
	if err != nil {
		return nil, exitf(exitFailed, "kz topics: %v", err)
	}
	return &zkTopics{e: e, zk: c, topics: admin.NewTopics(c)}, nil
}

func (s *zkTopics) close() { s.zk.Close() }

func (s *zkTopics) names(ctx context.Context) ([]string, error) { return s.topics.Names(ctx) }

func (s *zkTopics) marked(ctx context.Context, name string) (bool, error) {
	_, exists, err := s.zk.Exists(ctx, zkpaths.DeleteTopic(name))
	return exists, err
}

func (s *zkTopics) note(ctx context.Context, name string) (string, error) {
	marked, err := s.marked(ctx, name)
	if marked {
		return " - marked for deletion", err
	}
	return "", err
}

func (s *zkTopics) create(ctx context.Context, t newTopic) error {
	a := admin.Assignment{}
	for i, replicas := range t.assignment {
		a[int32(i)] = replicas
	}
	if t.assignment == nil {
		brokers, err := s.brokers(ctx, t.rackAware)
		if err != nil {
			return err
		}
		if a, err = admin.Assign(brokers, int(t.partitions), int(t.replicationFactor)); err != nil {
			return err
		}
	}
	return s.topics.Create(ctx, t.name, a, t.add)
}

func (s *zkTopics) brokers(ctx context.Context, rackAware bool) ([]admin.Broker, error) {
	brokers, err := s.topics.Brokers(ctx, rackAware)
	if err == nil && admin.SomeRacksMissing(brokers) {
		err = errors.New("Not all brokers have rack information. Add --disable-rack-aware in command line to make replica assignment without rack information.")
	}
	return brokers, err
}

// alter changes configs first, then the number of partitions, and says so, as Kafka does.
func (s *zkTopics) alter(ctx context.Context, name string, t newTopic) error {
	if len(t.add) > 0 || len(t.remove) > 0 {
		if err := s.alterConfig(ctx, name, t); err != nil {
			return err
		}
	}
	if t.partitions == -1 {
		return nil
	}
	if topic.IsInternal(name) {
		return fmt.Errorf("The number of partitions for the internal topic %s cannot be changed.", name)
	}
	fmt.Fprintln(s.e.stdout, "WARNING: If partitions are increased for a topic that has a key, the partition logic or ordering of the messages will be affected")
	if err := s.addPartitions(ctx, name, t); err != nil {
		return err
	}
	fmt.Fprintln(s.e.stdout, "Adding partitions succeeded!")
	return nil
}

func (s *zkTopics) alterConfig(ctx context.Context, name string, t newTopic) error {
	fmt.Fprintln(s.e.stdout, "WARNING: Altering topic configuration from this script has been deprecated and may be removed in future releases.")
	fmt.Fprintln(s.e.stdout, "         Going forward, please use kafka-configs.sh for this functionality")
	configs, err := s.topics.Config(ctx, name)
	if err != nil {
		return err
	}
	maps.Copy(configs, t.add)
	for _, k := range t.remove {
		delete(configs, k)
	}
	if err := config.ValidateTopicOverrides(configs); err != nil {
		return err
	}
	if err := s.topics.SetConfig(ctx, name, configs); err != nil {
		return err
	}
	if err := s.topics.Announce(ctx, name); err != nil {
		return err
	}
	fmt.Fprintf(s.e.stdout, "Updated config for topic %s.\n", name)
	return nil
}

// addPartitions extends the assignment. Mirrors AdminZkClient.addPartitions.
func (s *zkTopics) addPartitions(ctx context.Context, name string, t newTopic) error {
	_, err := s.topics.ChangeAssignment(ctx, name, func(have zkpaths.TopicAssignment, exists bool) (admin.Assignment, error) {
		if !exists {
			return nil, kafkaerr.New(kafkaerr.InvalidTopicException, fmt.Sprintf("The topic %s does not exist", name))
		}
		return s.grown(ctx, name, have.Partitions, t)
	})
	return err
}

// grown is the partitions there are and those asked for.
func (s *zkTopics) grown(ctx context.Context, name string, have admin.Assignment, t newTopic) (admin.Assignment, error) {
	n := len(have)
	first, ok := have[0]
	if !ok {
		return nil, fmt.Errorf("Unexpected existing replica assignment for topic '%s', partition id 0 is missing.", name)
	}
	more := int(t.partitions) - n
	if more <= 0 {
		return nil, kafkaerr.New(kafkaerr.InvalidPartitions, fmt.Sprintf(
			"The number of partitions for a topic can only be increased. Topic %s currently has %d partitions, %d would not be an increase.", name, n, t.partitions))
	}
	brokers, err := s.brokers(ctx, t.rackAware)
	if err != nil {
		return nil, err
	}
	added := admin.Assignment{}
	for i := n; i < len(t.assignment); i++ {
		added[int32(i)] = t.assignment[i]
	}
	if len(added) > 0 {
		err = checkAdded(added, len(first), brokers)
	} else {
		added, err = admin.AssignMore(brokers, more, first, n)
	}
	if err != nil {
		return nil, err
	}
	all := maps.Clone(have)
	maps.Copy(all, added)
	return all, nil
}

// checkAdded refuses explicit replicas as AdminZkClient.validateReplicaAssignment does.
func checkAdded(added admin.Assignment, factor int, brokers []admin.Broker) error {
	bad := func(format string, args ...any) error {
		return kafkaerr.New(kafkaerr.InvalidReplicaAssignment, fmt.Sprintf(format, args...))
	}
	for _, p := range slices.Sorted(maps.Keys(added)) {
		replicas := added[p]
		for i, r := range replicas {
			if slices.Contains(replicas[:i], r) {
				return bad("Duplicate brokers not allowed in replica assignment: %s for partition id %d.", joinIDs(replicas), p)
			}
			if !slices.ContainsFunc(brokers, func(b admin.Broker) bool { return b.ID == r }) {
				return kafkaerr.New(kafkaerr.BrokerNotAvailable, fmt.Sprintf("Some brokers specified for partition id %d are not available. Specified brokers: %s.", p, joinIDs(replicas)))
			}
		}
		if len(replicas) != factor {
			return bad("Inconsistent replication factor between partitions, partition 0 has %d while partitions [%d] have replication factors [%d], respectively.", factor, p, len(replicas))
		}
	}
	return nil
}

func (s *zkTopics) describe(ctx context.Context, names []string) (described, error) {
	d := described{live: map[int32]bool{}}
	ids, err := s.zk.Children(ctx, zkpaths.BrokerIDs, false)
	if err != nil && !errors.Is(err, zk.NoNode) {
		return d, err
	}
	for _, s := range ids {
		if id, err := strconv.ParseInt(s, 10, 32); err == nil {
			d.live[int32(id)] = true
		}
	}
	var faults []error
	for _, name := range names {
		t, ok, err := s.topic(ctx, name)
		switch lost := zk.Code(0); {
		case errors.As(err, &lost) || ctx.Err() != nil: // ZooKeeper's, not the topic's: so it would be with the next
			return d, err
		case err != nil:
			faults = append(faults, err)
		case ok:
			d.topics = append(d.topics, t)
		}
	}
	return d, errors.Join(faults...)
}

// topic describes one, if it was not deleted since it was listed.
func (s *zkTopics) topic(ctx context.Context, name string) (t topicInfo, ok bool, err error) {
	a, ok, err := s.topics.Assignment(ctx, name)
	if err == nil && ok {
		t, err = s.topicInfo(ctx, name, a)
	}
	return t, ok, err
}

func (s *zkTopics) topicInfo(ctx context.Context, name string, a zkpaths.TopicAssignment) (topicInfo, error) {
	t := topicInfo{name: name, minISR: -1}
	var err error
	if t.marked, err = s.marked(ctx, name); err != nil {
		return t, err
	}
	configs, err := s.topics.Config(ctx, name)
	if err != nil {
		return t, err
	}
	for _, k := range slices.Sorted(maps.Keys(configs)) {
		t.configs = append(t.configs, setting{k, configs[k]})
	}
	for _, p := range slices.Sorted(maps.Keys(a.Partitions)) {
		pi := partitionInfo{id: p, leader: -1, replicas: a.Partitions[p], factor: len(a.Partitions[p])}
		data, _, err := s.zk.Get(ctx, zkpaths.PartitionStatePath(name, p))
		switch {
		case err == nil:
			state, err := zkpaths.DecodePartitionState(data)
			if err != nil {
				return t, fmt.Errorf("%s: %w", zkpaths.PartitionStatePath(name, p), err)
			}
			pi.leader, pi.isr = state.Leader, state.ISR
		case !errors.Is(err, zk.NoNode): // no state yet: the controller has not seen the topic
			return t, err
		}
		t.partitions = append(t.partitions, pi)
	}
	if len(t.partitions) > 0 {
		t.factor = t.partitions[0].factor
	}
	return t, nil
}
