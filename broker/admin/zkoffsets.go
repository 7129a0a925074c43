package admin

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"kz/internal/topic"
	"kz/internal/zk"
	"kz/zkpaths"
)

// Offsets are committed offsets as ZooKeeper holds them, where consumers of Kafka 0.8 kept
// theirs. Nobody is asked whether the group has a coordinator or who its members are: the
// last write wins. Mirrors KafkaZkClient.setOrCreateConsumerOffset.
type Offsets struct{ store Store }

// NewOffsets works on the cluster behind the client.
func NewOffsets(store Store) *Offsets { return &Offsets{store} }

// Set stores the next offset to read, whatever is there.
func (o *Offsets) Set(ctx context.Context, group string, p topic.Partition, offset int64) error {
	path, data := zkpaths.ConsumerOffset(group, p.Topic, p.Partition), strconv.AppendInt(nil, offset, 10)
	if err := checkGroup(group); err != nil {
		return err
	}
	_, err := o.store.Set(ctx, path, data, zk.AnyVersion)
	if errors.Is(err, zk.NoNode) {
		err = o.store.CreateRecursive(ctx, path, data)
		if errors.Is(err, zk.NodeExists) { // somebody was faster
			_, err = o.store.Set(ctx, path, data, zk.AnyVersion)
		}
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// Get reads it; false when there is none.
func (o *Offsets) Get(ctx context.Context, group string, p topic.Partition) (offset int64, found bool, err error) {
	path := zkpaths.ConsumerOffset(group, p.Topic, p.Partition)
	if err := checkGroup(group); err != nil {
		return 0, false, err
	}
	data, _, err := o.store.Get(ctx, path)
	if errors.Is(err, zk.NoNode) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("read %s: %w", path, err)
	}
	if offset, err = strconv.ParseInt(string(data), 10, 64); err != nil {
		return 0, false, fmt.Errorf("%s: %q is no offset", path, data)
	}
	return offset, true, nil
}

// checkGroup: the name is a part of a path, as it is, and may hold slashes. What would make
// no path is refused here, with the name.
func checkGroup(group string) error {
	for part := range strings.SplitSeq(group, "/") {
		if part == "" || part == "." || part == ".." || strings.ContainsRune(part, 0) {
			return fmt.Errorf("group %q cannot be a part of a path in ZooKeeper", group)
		}
	}
	return nil
}
