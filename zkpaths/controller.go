package zkpaths

import (
	"fmt"
	"strconv"
)

// ControllerInfo is the data of /controller, the ephemeral node that is the election.
// Mirrors kafka.zk.ControllerZNode.
//
//	written by  the winner, in one multi with /controller_epoch
//	guarded by  NODEEXISTS, and by the version of /controller_epoch in the same multi
//	watched by  every broker (data and existence)
//
//	{"version":1,"brokerid":0,"timestamp":"1623754091321"}
type ControllerInfo struct {
	BrokerID  int32
	Timestamp int64 // epoch ms of the election; nobody reads it
}

// Encode writes version 1.
func (c ControllerInfo) Encode() []byte {
	w := &writer{}
	w.raw(`{"version":1,"brokerid":`).num(int64(c.BrokerID))
	return w.raw(`,"timestamp":"`).num(c.Timestamp).raw(`"}`).buf
}

// DecodeControllerInfo needs the broker id only. Kafka 3.4 and later write version 2.
func DecodeControllerInfo(b []byte) (ControllerInfo, error) {
	o, err := parseObject(b)
	if err != nil {
		return ControllerInfo{}, fmt.Errorf("%s: %w", Controller, err)
	}
	id, err := get[int32](o, "brokerid")
	if err != nil {
		return ControllerInfo{}, fmt.Errorf("%s: %w", Controller, err)
	}
	c := ControllerInfo{BrokerID: id}
	if ts, err := getOr(o, "timestamp", ""); err == nil {
		c.Timestamp, _ = strconv.ParseInt(ts, 10, 64)
	}
	return c, nil
}

// EncodeControllerEpoch is the data of /controller_epoch: plain decimal text, no JSON.
//
//	written by  the winner of an election (epoch + 1); created as 0 by the first candidate
//	guarded by  its version, which then fences every write of that controller
//
//	1
func EncodeControllerEpoch(epoch int32) []byte { return []byte(itoa(epoch)) }

// DecodeControllerEpoch reads it back.
func DecodeControllerEpoch(b []byte) (int32, error) {
	n, err := strconv.ParseInt(string(b), 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", ControllerEpoch, err)
	}
	return int32(n), nil
}
