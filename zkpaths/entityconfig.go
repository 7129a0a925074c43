package zkpaths

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// EncodeEntityConfig is the data of /config/<type>/<name>: an entity's overrides, all of
// them strings. Mirrors kafka.zk.ConfigEntityZNode.
//
//	written by  the broker that serves AlterConfigs or CreateTopics; the --zookeeper tools
//	guarded by  nothing: the last writer wins
//	watched by  nobody: a config_change node says that it changed
//
//	{"version":1,"config":{"cleanup.policy":"compact","retention.ms":"86400000"}}
//
// No override at all is {"version":1,"config":{}}, which topic creation always writes.
func EncodeEntityConfig(c map[string]string) []byte {
	w := &writer{}
	w.raw(`{"version":1,"config":`)
	dict(w, propertiesOrder(slices.Collect(maps.Keys(c))), func(k string) { w.str(c[k]) })
	return w.raw("}").buf
}

// DecodeEntityConfig reads it back. Null data, and an object without "config", are a
// config without overrides, as in Kafka. Beside an error stands what could be read: of
// data that is no JSON (ErrNotJSON) nothing, which is what Kafka takes it for; of a
// config with values that are no strings, where Kafka throws, the others.
func DecodeEntityConfig(b []byte) (map[string]string, error) {
	out := map[string]string{}
	if len(b) == 0 {
		return out, nil
	}
	o, err := parseObject(b)
	if err != nil {
		return out, fmt.Errorf("entity config: %w", err)
	}
	var values map[string]json.RawMessage
	if json.Unmarshal(o["config"], &values) != nil {
		return out, nil
	}
	var faults []error
	for _, k := range slices.Sorted(maps.Keys(values)) {
		v, err := get[string](values, k)
		if err != nil {
			faults = append(faults, fmt.Errorf("entity config: %w", err))
			continue
		}
		out[k] = v
	}
	return out, errors.Join(faults...)
}

// EncodeConfigChange is the data of /config/changes/config_change_<10 digits>: which
// entity's config was changed, as the path below /config. Mirrors
// kafka.zk.ConfigEntityChangeNotificationSequenceZNode.
//
//	written by  whoever changed a config, after the config itself
//	guarded by  nothing: each notification is a new sequential node
//	watched by  every broker (children); any of them deletes it when it is 15 minutes old
//
//	{"version":2,"entity_path":"topics/test"}
func EncodeConfigChange(entityPath string) []byte {
	w := &writer{}
	return w.raw(`{"version":2,"entity_path":`).str(entityPath).raw("}").buf
}

// DecodeConfigChange reads version 2, and version 1 (0.9) of topics and clients. Data
// that is no JSON object gives ErrNotJSON: 0.8 wrote such; Kafka skips it silently.
func DecodeConfigChange(b []byte) (entityPath string, err error) {
	entityPath, err = decodeConfigChange(b)
	if err != nil {
		return "", fmt.Errorf("config change notification: %w", err)
	}
	return entityPath, nil
}

func decodeConfigChange(b []byte) (string, error) {
	o, err := parseObject(b)
	if err != nil {
		return "", err
	}
	version, err := get[int](o, "version")
	if err != nil {
		return "", err
	}
	switch version {
	case 1:
		entityType, err := get[string](o, "entity_type")
		if err != nil {
			return "", err
		}
		if entityType != EntityTopics && entityType != EntityClients {
			return "", fmt.Errorf("version 1 knows topics and clients, not %q", entityType)
		}
		name, err := get[string](o, "entity_name")
		return entityType + "/" + name, err
	case 2:
		path, err := get[string](o, "entity_path")
		if err == nil && !strings.Contains(path, "/") {
			err = fmt.Errorf("entity_path %q has no entity type", path)
		}
		return path, err
	}
	return "", fmt.Errorf("version %d is not 1 or 2", version)
}
