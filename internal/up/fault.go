package up

import (
	"fmt"
	"time"
)

// What can be done to a node. Kill, power-off and pause may wait for a moment.
const (
	Kill     = "kill"      // SIGKILL: what was written to files stays
	PowerOff = "power-off" // SIGKILL, then every log is cut where it was last forced to disk
	Stop     = "stop"      // asked to: leaders move first, logs are closed
	Pause    = "pause"     // SIGSTOP: nothing in the process runs
	Resume   = "resume"    // SIGCONT
	Start    = "start"
)

// What can be done to a link.
const (
	Cut    = "cut"    // silence
	Reset  = "reset"  // open connections break, once
	Refuse = "refuse" // no new connections
	Delay  = "delay"  // everything arrives later
	Drop   = "drop"   // some messages disappear
	Heal   = "heal"   // the end of all of these
)

// A NodeFault asks for something to be done to a node.
type NodeFault struct {
	ID   string `json:"id"`           // of the request, chosen by who asks: the same id twice is done once
	Act  string `json:"act"`          // Kill …
	Node string `json:"node"`         // "2", "broker-2", "zookeeper", "controller", "leader:orders-0"
	At   string `json:"at,omitempty"` // a moment, with a detail if only that counts: "controller.send:LeaderAndIsr"
}

// A LinkFault asks for something to be done to the link between two nodes.
type LinkFault struct {
	ID      string        `json:"id"` // as of NodeFault
	Act     string        `json:"act"`
	A       string        `json:"a"` // as Node of NodeFault
	B       string        `json:"b"`
	OneWay  bool          `json:"oneWay,omitempty"`  // only from A to B
	Delay   time.Duration `json:"delay,omitempty"`   // of Delay
	Message string        `json:"message,omitempty"` // of Drop: "FetchResponse", as Kafka names it
	Count   int           `json:"count,omitempty"`   // of Drop: how many, in each direction
}

// The states of a fault.
const (
	Done    = "done"     // it happened, and there is nothing to heal
	Armed   = "armed"    // it waits for its moment
	InForce = "in force" // until it is healed
	UsedUp  = "used up"  // it has dropped what it was to drop
	Healed  = "healed"
)

// A Fault is something that was done to the cluster.
type Fault struct {
	ID    string   `json:"id"`    // given by the supervisor: "1", "2", …
	Act   string   `json:"act"`   // "kill", "cut", …
	Nodes []string `json:"nodes"` // one, or the two ends of a link
	State string   `json:"state"`
	Since int64    `json:"since"` // Seq of its event
	AtMs  int64    `json:"t_ms"`  // the supervisor's clock then
	Text  string   `json:"text"`  // for people
}

// A Refusal is why a request was not done.
type Refusal struct {
	Usage bool   `json:"usage"` // it asked for what does not exist: a node, a moment, an API. Otherwise the cluster is not in the state for it
	Text  string `json:"error"` // with what was probably meant
}

func (r *Refusal) Error() string { return r.Text }

func wrongUsage(format string, args ...any) error {
	return &Refusal{Usage: true, Text: fmt.Sprintf(format, args...)}
}

func notNow(format string, args ...any) error { return &Refusal{Text: fmt.Sprintf(format, args...)} }
