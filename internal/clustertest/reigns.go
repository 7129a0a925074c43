package clustertest

import (
	"fmt"
	"strconv"
	"strings"

	"kz/zkpaths"
)

// A Reign is the time one controller held its epoch, in the order of ZooKeeper's transactions.
type Reign struct {
	Epoch   int32
	Session int64 // of the broker that won
	From    int64 // zxid of the election
}

// Reigns reads the elections from ZooKeeper's log. Every election is one transaction that creates
// /controller and sets /controller_epoch; wrong lists those that are not, and epochs that did not go
// up by one.
func Reigns(txns []Txn) (reigns []Reign, wrong []string) {
	created := map[int64]bool{} // zxids that created /controller
	for _, x := range txns {
		if x.Type == "create" && x.Path == zkpaths.Controller {
			created[x.Zxid] = true
		}
	}
	last := int32(0)
	for _, x := range txns {
		if x.Type != "set" || x.Path != zkpaths.ControllerEpoch {
			continue
		}
		epoch, err := strconv.Atoi(strings.TrimSpace(string(x.Data)))
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("zxid %#x: /controller_epoch = %q", x.Zxid, x.Data))
			continue
		}
		if int32(epoch) != last+1 {
			wrong = append(wrong, fmt.Sprintf("zxid %#x: controller epoch %d follows %d", x.Zxid, epoch, last))
		}
		if !created[x.Zxid] {
			wrong = append(wrong, fmt.Sprintf("zxid %#x: controller epoch %d was set without creating /controller", x.Zxid, epoch))
		}
		delete(created, x.Zxid)
		last = int32(epoch)
		reigns = append(reigns, Reign{last, x.Session, x.Zxid})
	}
	for zxid := range created {
		wrong = append(wrong, fmt.Sprintf("zxid %#x: /controller was created without a new epoch", zxid))
	}
	return reigns, wrong
}

// WrittenByLosers lists fenced writes that reached the tree although their writer was not the
// controller then. A fenced write is a transaction that begins with a check of /controller_epoch:
// it must come from the session that won the epoch in force, or from that broker's later session
// never (a new session means a new election).
func WrittenByLosers(txns []Txn) []string {
	var wrong []string
	var reign Reign
	reigns, _ := Reigns(txns)
	next := 0
	for _, x := range txns {
		for next < len(reigns) && reigns[next].From <= x.Zxid {
			reign = reigns[next]
			next++
		}
		if x.Type == "check" && x.Path == zkpaths.ControllerEpoch && x.Session != reign.Session {
			wrong = append(wrong, fmt.Sprintf("zxid %#x: session %#x wrote as controller in epoch %d of session %#x", x.Zxid, x.Session, reign.Epoch, reign.Session))
		}
	}
	return wrong
}

// StateVersions is the history of one partition's state znode: what each write left there.
func StateVersions(txns []Txn, topic string, partition int32) []zkpaths.PartitionState {
	path := zkpaths.PartitionStatePath(topic, partition)
	var out []zkpaths.PartitionState
	for _, x := range txns {
		if x.Path == path && (x.Type == "set" || x.Type == "create") {
			if s, err := zkpaths.DecodePartitionState(x.Data); err == nil {
				out = append(out, s)
			}
		}
	}
	return out
}

// EpochsBackwards lists state writes whose leader epoch or controller epoch is lower than before.
func EpochsBackwards(txns []Txn) []string {
	var wrong []string
	last := map[string]zkpaths.PartitionState{}
	for _, x := range txns {
		if !strings.HasSuffix(x.Path, "/state") || x.Type != "set" && x.Type != "create" {
			continue
		}
		s, err := zkpaths.DecodePartitionState(x.Data)
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("zxid %#x: %s = %q: %v", x.Zxid, x.Path, x.Data, err))
			continue
		}
		if was, ok := last[x.Path]; ok && (s.LeaderEpoch < was.LeaderEpoch || s.ControllerEpoch < was.ControllerEpoch) {
			wrong = append(wrong, fmt.Sprintf("zxid %#x: %s went from %+v to %+v", x.Zxid, x.Path, was, s))
		}
		last[x.Path] = s
	}
	return wrong
}
