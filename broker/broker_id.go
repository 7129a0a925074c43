package broker

import (
	"context"
	"errors"
	"fmt"

	"kz/broker/commitlog"
	"kz/broker/config"
	"kz/internal/zk"
	"kz/zkpaths"
)

// checkClusterID refuses log directories of another cluster. Mirrors
// InconsistentClusterIdException.
func checkClusterID(stored *commitlog.MetaProperties, clusterID string) error {
	if stored == nil || stored.ClusterID == "" || stored.ClusterID == clusterID {
		return nil
	}
	return fmt.Errorf("the cluster's id is %s, but meta.properties in log.dirs says %s: this broker would join the wrong cluster; "+
		"check zookeeper.connect and log.dirs", clusterID, stored.ClusterID)
}

// An idSource says where a broker's id comes from.
type idSource int8

const (
	idConfigured idSource = iota // broker.id
	idStored                     // meta.properties
	idGenerated                  // to be asked from ZooKeeper
)

// chooseBrokerID decides where the id comes from. Mirrors
// KafkaServer.getOrGenerateBrokerId, InconsistentBrokerIdException.
//
//	stored  configured                 id
//	  n     n, or -1                   n
//	  n     another                    refused
//	  -     -1, with generation on     generated
//	  -     otherwise                  the configured one
func chooseBrokerID(cfg *config.Config, stored *commitlog.MetaProperties) (idSource, error) {
	switch {
	case stored != nil && stored.BrokerID >= 0:
		if cfg.BrokerID >= 0 && cfg.BrokerID != stored.BrokerID {
			return 0, fmt.Errorf("broker.id=%d, but meta.properties in log.dirs says %d: if the data was moved, set broker.id to match it; "+
				"for a new broker remove all data from log.dirs", cfg.BrokerID, stored.BrokerID)
		}
		return idStored, nil
	case cfg.BrokerID < 0 && cfg.BrokerIDGenerationEnable:
		return idGenerated, nil
	case cfg.BrokerID < 0:
		return 0, errors.New("broker.id is not set, and broker.id.generation.enable is false")
	}
	return idConfigured, nil
}

// generateBrokerID takes the next number of the cluster: the data version of
// /brokers/seqid after a write of ours, above reserved.broker.max.id. The first is 1001.
func generateBrokerID(ctx context.Context, c *zk.Client, reservedMax int32) (int32, error) {
	for {
		stat, err := c.Set(ctx, zkpaths.BrokerSequence, []byte{}, zk.AnyVersion)
		if err == nil {
			return reservedMax + stat.Version, nil
		}
		if !errors.Is(err, zk.NoNode) {
			return 0, fmt.Errorf("generate a broker id from %s: %w", zkpaths.BrokerSequence, err)
		}
		if err := c.CreateRecursive(ctx, zkpaths.BrokerSequence, nil); err != nil && !errors.Is(err, zk.NodeExists) {
			return 0, fmt.Errorf("create %s: %w", zkpaths.BrokerSequence, err)
		}
	}
}
