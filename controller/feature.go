package controller

import (
	"encoding/json"
	"errors"
	"fmt"

	"kz/internal/zk"
	"kz/zkpaths"
)

// disabledFeatures is what a controller at inter.broker.protocol.version=2.6 keeps at
// /feature: feature versioning (KIP-584) is off, and nothing is finalized.
const disabledFeatures = `{"features":{},"version":1,"status":0}`

// disableFeatures makes /feature say so. The write is not fenced, as in Kafka: every
// controller of this level writes the same. Mirrors disableFeatureVersioning.
func (c *Controller) disableFeatures() error {
	r, err := c.do1(zk.GetOp(zkpaths.Feature))
	switch {
	case errors.Is(err, zk.NoNode):
		_, err = c.do1(zk.CreateOp(zkpaths.Feature, []byte(disabledFeatures)))
		if errors.Is(err, zk.NodeExists) {
			return nil // another candidate's, or our own before the connection was lost
		}
	case err == nil && !areDisabled(r.Data):
		c.log.Warn().Str("path", zkpaths.Feature).Bytes("was", r.Data).Msg("feature versioning is switched off: the protocol level is below 2.7")
		_, err = c.do1(zk.SetOp(zkpaths.Feature, []byte(disabledFeatures), zk.AnyVersion))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", zkpaths.Feature, err)
	}
	return nil
}

// areDisabled compares meaning, not bytes.
func areDisabled(data []byte) bool {
	var node struct {
		Features map[string]json.RawMessage `json:"features"`
		Status   *int                       `json:"status"`
	}
	return json.Unmarshal(data, &node) == nil && len(node.Features) == 0 && node.Status != nil && *node.Status == 0
}
