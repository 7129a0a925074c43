package zkpaths

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// EncodeClusterID is the data of /cluster/id. Here, and only here, version is a string.
// Mirrors kafka.zk.ClusterIdZNode.
//
//	written by  the first broker ever; NODEEXISTS: read what the other wrote
//
//	{"version":"1","id":"eQzK4lYlQ9y8P21IScOl_g"}
func EncodeClusterID(id string) []byte {
	w := &writer{}
	return w.raw(`{"version":"1","id":`).str(id).raw("}").buf
}

// DecodeClusterID reads it back.
func DecodeClusterID(b []byte) (string, error) {
	o, err := parseObject(b)
	var id string
	if err == nil {
		id, err = get[string](o, "id")
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", ClusterID, err)
	}
	return id, nil
}

// FeatureStatus says whether the feature system is on. It is off below protocol 2.7.
type FeatureStatus int32

// The two states of /feature.
const (
	FeaturesDisabled FeatureStatus = 0
	FeaturesEnabled  FeatureStatus = 1
)

// EncodeFeature is the data of /feature with no finalized feature, which is all that 2.8
// ever writes. Mirrors kafka.zk.FeatureZNode.
//
//	written by  the controller at failover (create if missing)
//	guarded by  nothing
//	watched by  brokers at protocol 2.7 and later
//
//	{"features":{},"version":1,"status":0}
func EncodeFeature(status FeatureStatus) []byte {
	w := &writer{}
	return w.raw(`{"features":{},"version":1,"status":`).num(int64(status)).raw("}").buf
}

// DecodeFeature says the status and how many features are finalized.
func DecodeFeature(b []byte) (status FeatureStatus, finalized int, err error) {
	status, finalized, err = decodeFeature(b)
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w", Feature, err)
	}
	return status, finalized, nil
}

func decodeFeature(b []byte) (FeatureStatus, int, error) {
	o, err := parseObject(b)
	if err != nil {
		return 0, 0, err
	}
	version, err := get[int](o, "version")
	if err != nil {
		return 0, 0, err
	}
	if version < 1 {
		return 0, 0, fmt.Errorf("unsupported version %d", version)
	}
	status, err := get[FeatureStatus](o, "status")
	if err != nil {
		return 0, 0, err
	}
	if status != FeaturesDisabled && status != FeaturesEnabled {
		return 0, 0, fmt.Errorf("unknown status %d", status)
	}
	features, err := getOr[map[string]json.RawMessage](o, "features", nil)
	return status, len(features), err
}

// EncodeProducerIDBlock is the data of /latest_producer_id_block: who claimed which
// producer ids last, both bounds inclusive. Mirrors kafka.zk.ProducerIdBlockZNode.
//
//	written by  every broker at start, and whenever it used its block up
//	guarded by  the znode version; BADVERSION: read back, it may have been our own write
//
//	{"version":1,"broker":0,"block_start":"0","block_end":"999"}
func EncodeProducerIDBlock(broker int32, start, end int64) []byte {
	w := &writer{}
	w.raw(`{"version":1,"broker":`).num(int64(broker)).raw(`,"block_start":"`).num(start)
	return w.raw(`","block_end":"`).num(end).raw(`"}`).buf
}

// DecodeProducerIDBlock reads it back. The bounds are strings in the JSON.
func DecodeProducerIDBlock(b []byte) (broker int32, start, end int64, err error) {
	broker, start, end, err = decodeProducerIDBlock(b)
	if err != nil {
		return 0, 0, 0, fmt.Errorf("%s: %w", ProducerIDBlock, err)
	}
	return broker, start, end, nil
}

func decodeProducerIDBlock(b []byte) (broker int32, start, end int64, err error) {
	o, err := parseObject(b)
	if err != nil {
		return 0, 0, 0, err
	}
	if broker, err = get[int32](o, "broker"); err != nil {
		return 0, 0, 0, err
	}
	bound := func(key string) (int64, error) {
		s, err := get[string](o, key)
		if err != nil {
			return 0, err
		}
		return strconv.ParseInt(s, 10, 64)
	}
	if start, err = bound("block_start"); err != nil {
		return 0, 0, 0, err
	}
	end, err = bound("block_end")
	return broker, start, end, err
}
