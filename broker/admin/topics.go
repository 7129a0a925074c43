package admin

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"kz/broker/config"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
	"kz/internal/zk"
	"kz/zkpaths"
)

// Store is the part of *zk.Client that admin uses.
type Store interface {
	Do(ctx context.Context, ops ...zk.Op) []zk.Result
	Get(ctx context.Context, path string) ([]byte, zk.Stat, error)
	Exists(ctx context.Context, path string) (zk.Stat, bool, error)
	Children(ctx context.Context, path string, watch bool) ([]string, error)
	Set(ctx context.Context, path string, data []byte, version int32) (zk.Stat, error)
	Delete(ctx context.Context, path string, version int32) error
	CreateRecursive(ctx context.Context, path string, data []byte) error
	RegisterChild(path string, f func(zk.EventType))
	UnregisterChild(path string)
	RegisterSession(name string, before, after func())
	UnregisterSession(name string)
}

var _ Store = (*zk.Client)(nil)

// Topics is the topics as ZooKeeper holds them. It needs no broker, so
// `kz topics --zookeeper` uses it directly. Mirrors AdminZkClient.
//
// Errors carry Kafka's codes where a rule of Kafka's was broken, with Kafka's message;
// others are ZooKeeper's.
type Topics struct{ store Store }

// NewTopics works on the cluster behind the client.
func NewTopics(store Store) *Topics { return &Topics{store} }

// Names lists every topic, in order.
func (t *Topics) Names(ctx context.Context) ([]string, error) {
	names, err := t.store.Children(ctx, zkpaths.Topics, false)
	if errors.Is(err, zk.NoNode) {
		return nil, nil
	}
	slices.Sort(names)
	return names, err
}

// Brokers lists the registered brokers by id. Racks are left out unless every broker
// has one (Kafka's "safe" mode), or when rackAware is false.
func (t *Topics) Brokers(ctx context.Context, rackAware bool) ([]Broker, error) {
	ids, err := t.store.Children(ctx, zkpaths.BrokerIDs, false)
	if errors.Is(err, zk.NoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []Broker
	for _, s := range ids {
		id, err := strconv.ParseInt(s, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%s/%s: not a broker id", zkpaths.BrokerIDs, s)
		}
		data, _, err := t.store.Get(ctx, zkpaths.Broker(int32(id)))
		if errors.Is(err, zk.NoNode) {
			continue // it died since
		}
		if err != nil {
			return nil, err
		}
		info, err := zkpaths.DecodeBrokerInfo(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", zkpaths.Broker(int32(id)), err)
		}
		b := Broker{ID: int32(id)}
		if rackAware {
			b.Rack = info.Rack
		}
		out = append(out, b)
	}
	slices.SortFunc(out, func(a, b Broker) int { return cmp.Compare(a.ID, b.ID) })
	return out, nil
}

// SomeRacksMissing says whether some brokers have a rack and others do not, which
// Kafka's tools refuse unless told to ignore racks.
func SomeRacksMissing(brokers []Broker) bool {
	racked := 0
	for _, b := range brokers {
		if b.Rack != "" {
			racked++
		}
	}
	return racked > 0 && racked < len(brokers)
}

// Assignment reads /brokers/topics/<name>; false when there is no such topic.
func (t *Topics) Assignment(ctx context.Context, name string) (zkpaths.TopicAssignment, bool, error) {
	a, _, ok, err := t.assignment(ctx, name)
	return a, ok, err
}

// assignment is Assignment with the znode's version.
func (t *Topics) assignment(ctx context.Context, name string) (a zkpaths.TopicAssignment, version int32, ok bool, err error) {
	if topic.ValidateName(name) != nil {
		return a, 0, false, nil // it could be no path
	}
	data, stat, err := t.store.Get(ctx, zkpaths.Topic(name))
	if errors.Is(err, zk.NoNode) {
		return a, 0, false, nil
	}
	if err != nil {
		return a, 0, false, err
	}
	if a, err = zkpaths.DecodeTopicAssignment(data); err != nil {
		return a, 0, false, fmt.Errorf("%s: %w", zkpaths.Topic(name), err)
	}
	return a, stat.Version, true, nil
}

// ChangeAssignment replaces a topic's partitions by what change makes of those there are;
// exists says whether there is such a topic. It returns what it wrote. The write counts
// only over the version that was read: who else changed the topic meanwhile is not undone,
// and change is asked again.
func (t *Topics) ChangeAssignment(ctx context.Context, name string, change func(old zkpaths.TopicAssignment, exists bool) (Assignment, error)) (Assignment, error) {
	for {
		a, version, exists, err := t.assignment(ctx, name)
		if err != nil {
			return nil, err
		}
		all, err := change(a, exists)
		if err != nil {
			return nil, err
		}
		a.Partitions = all
		path := zkpaths.Topic(name)
		done, err := t.replace(ctx, path, a.Encode(), version)
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", path, err)
		}
		if done {
			return all, nil
		}
	}
}

// replace writes a node over the version that was read; false: somebody else wrote it.
// When the connection was lost meanwhile, BADVERSION may be the echo of our own write: the
// node, read back, tells.
func (t *Topics) replace(ctx context.Context, path string, data []byte, version int32) (done bool, err error) {
	r := t.store.Do(ctx, zk.SetOp(path, data, version))[0]
	switch {
	case !errors.Is(r.Err, zk.BadVersion):
		return r.Err == nil, r.Err
	case !r.Retried:
		return false, nil
	}
	there, stat, err := t.store.Get(ctx, path)
	return err == nil && stat.Version == version+1 && bytes.Equal(there, data), err
}

// Create checks and writes a new topic: first its config, then its assignment.
func (t *Topics) Create(ctx context.Context, name string, a Assignment, configs map[string]string) error {
	if err := t.ValidateCreate(ctx, name, a, configs); err != nil {
		return err
	}
	return t.write(ctx, name, a, configs)
}

// write is Create without the checks.
func (t *Topics) write(ctx context.Context, name string, a Assignment, configs map[string]string) error {
	if err := t.SetConfig(ctx, name, configs); err != nil {
		return err
	}
	data := zkpaths.TopicAssignment{Partitions: a}.Encode()
	if err := t.create(ctx, zkpaths.Topic(name), data); errors.Is(err, zk.NodeExists) {
		return alreadyExists(name)
	} else if err != nil {
		return fmt.Errorf("create %s: %w", zkpaths.Topic(name), err)
	}
	return nil
}

func alreadyExists(name string) error {
	return kafkaerr.New(kafkaerr.TopicAlreadyExists, fmt.Sprintf("Topic '%s' already exists.", name))
}

// create makes a node. When the connection was lost meanwhile, NODEEXISTS may be the
// echo of our own create: the data, read back, tells.
func (t *Topics) create(ctx context.Context, path string, data []byte) error {
	r := t.store.Do(ctx, zk.CreateOp(path, data))[0]
	switch {
	case errors.Is(r.Err, zk.NoNode): // the parents are missing: an empty ZooKeeper
		return t.store.CreateRecursive(ctx, path, data)
	case errors.Is(r.Err, zk.NodeExists) && r.Retried:
		if there, _, err := t.store.Get(ctx, path); err == nil && bytes.Equal(there, data) {
			return nil
		}
	}
	return r.Err
}

// ValidateCreate refuses what Kafka refuses, in Kafka's order: the name, an existing
// topic, a collision of names, the assignment, the config. Mirrors
// AdminZkClient.validateTopicCreate.
func (t *Topics) ValidateCreate(ctx context.Context, name string, a Assignment, configs map[string]string) error {
	if err := topic.ValidateName(name); err != nil {
		return err
	}
	if _, exists, err := t.store.Exists(ctx, zkpaths.Topic(name)); err != nil {
		return err
	} else if exists {
		return alreadyExists(name)
	}
	if topic.HasCollisionChars(name) {
		if err := t.checkCollision(ctx, name); err != nil {
			return err
		}
	}
	if err := checkAssignment(a); err != nil {
		return err
	}
	return config.ValidateTopicOverrides(configs)
}

func (t *Topics) checkCollision(ctx context.Context, name string) error {
	names, err := t.Names(ctx)
	if err != nil {
		return err
	}
	if slices.Contains(names, name) {
		return alreadyExists(name)
	}
	colliding := slices.DeleteFunc(names, func(other string) bool { return !topic.Collide(name, other) })
	if len(colliding) > 0 {
		return kafkaerr.New(kafkaerr.InvalidTopicException,
			fmt.Sprintf("Topic '%s' collides with existing topics: %s", name, strings.Join(colliding, ", ")))
	}
	return nil
}

// checkAssignment: as many replicas for each partition, no broker twice in one,
// partitions numbered 0, 1, 2 …
func checkAssignment(a Assignment) error {
	bad := func(format string, args ...any) error {
		return kafkaerr.New(kafkaerr.InvalidReplicaAssignment, fmt.Sprintf(format, args...))
	}
	sizes := map[int]bool{}
	for _, replicas := range a {
		sizes[len(replicas)] = true
	}
	if len(sizes) != 1 {
		return bad("All partitions should have the same number of replicas")
	}
	for _, p := range slices.Sorted(maps.Keys(a)) {
		if hasDuplicates(a[p]) {
			return bad("Duplicate replica assignment found: partition %d -> %s", p, joinIDs(a[p]))
		}
	}
	sum, outside := 0, false
	for p := range a {
		sum += int(max(p, 0))
		outside = outside || p < 0 || int(p) >= len(a)
	}
	if sum != len(a)*(len(a)-1)/2 {
		return bad("partitions should be a consecutive 0-based integer sequence")
	}
	if outside { // a negative number slips through Kafka's sum, and Kafka stumbles later; clients see the same code
		return kafkaerr.Wrap(kafkaerr.UnknownServerError, "assignment with a negative partition", nil)
	}
	return nil
}

func hasDuplicates(ids []int32) bool {
	sorted := slices.Sorted(slices.Values(ids))
	return len(slices.Compact(sorted)) < len(ids)
}

func joinIDs(ids []int32) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = strconv.Itoa(int(id))
	}
	return strings.Join(words, ", ")
}

// Config reads a topic's overrides; a topic without any, or none at all, has an empty map,
// and so has one whose node is no JSON, as in Kafka.
func (t *Topics) Config(ctx context.Context, name string) (map[string]string, error) {
	read, fault, err := readConfig(ctx, t.store, zkpaths.TopicConfig(name))
	if err == nil && fault != nil && !errors.Is(fault, zkpaths.ErrNotJSON) {
		err = kafkaerr.New(kafkaerr.UnknownServerError, fault.Error())
	}
	return read, err
}

// SetConfig replaces a topic's overrides. It announces nothing: see Announce.
func (t *Topics) SetConfig(ctx context.Context, name string, configs map[string]string) error {
	path, data := zkpaths.TopicConfig(name), zkpaths.EncodeEntityConfig(configs)
	_, err := t.store.Set(ctx, path, data, zk.AnyVersion)
	if errors.Is(err, zk.NoNode) {
		err = t.store.CreateRecursive(ctx, path, data)
		if errors.Is(err, zk.NodeExists) { // somebody was faster, or it was ourselves before a lost connection
			_, err = t.store.Set(ctx, path, data, zk.AnyVersion)
		}
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// Announce tells every broker that a topic's config changed, by a node below
// /config/changes.
func (t *Topics) Announce(ctx context.Context, name string) error {
	if err := t.store.CreateRecursive(ctx, zkpaths.ConfigChanges, nil); err != nil && !errors.Is(err, zk.NodeExists) {
		return err
	}
	op := zk.CreateOp(zkpaths.ConfigChangePrefix, zkpaths.EncodeConfigChange(zkpaths.EntityTopics+"/"+name))
	op.Sequential = true
	return t.store.Do(ctx, op)[0].Err
}

// readConfig reads an entity's config; no node is no config. fault is what of the node
// could not be read, naming it, and read what could; err: ZooKeeper was not reached.
func readConfig(ctx context.Context, store Store, path string) (read map[string]string, fault, err error) {
	data, _, err := store.Get(ctx, path)
	if errors.Is(err, zk.NoNode) {
		return map[string]string{}, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if read, fault = zkpaths.DecodeEntityConfig(data); fault != nil {
		fault = fmt.Errorf("%s: %w", path, fault)
	}
	return read, fault, nil
}
