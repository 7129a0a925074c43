package up

import "kz/internal/link"

// An Order is a line that the supervisor writes into the pipe that holds a broker:
//
//	{"n":3,"do":"rules","rules":[{"id":"7","from":"broker-1","to":"zookeeper","cut":true}]}
//
// and the broker answers on its stdout, when the order is in force:
//
//	{"n":3}
//
// The first order is always orderNames, and the broker does nothing before it has come:
// not one connection may be dialed past the faults.
type Order struct {
	N     int64               `json:"n"`
	Do    string              `json:"do"`
	Self  string              `json:"self,omitempty"`  // of orderNames: who the broker is
	Names map[string][]string `json:"names,omitempty"` // of orderNames: where each node listens
	Rules []link.Rule         `json:"rules,omitempty"` // of orderNames and orderRules: all that is wrong
	Peer  string              `json:"peer,omitempty"`  // of orderReset
	Arm   *armed              `json:"arm,omitempty"`   // of orderArm
	Fault string              `json:"fault,omitempty"` // of orderDisarm and orderResume
}

// What an Order can ask.
const (
	orderNames  = "names"
	orderRules  = "rules"
	orderReset  = "reset"  // break the connections to Peer
	orderArm    = "arm"    // wait for a moment
	orderDisarm = "disarm" // wait no longer
	orderResume = "resume" // go on from the moment at which everything stands
)

// armed is a moment at which something is to happen, once.
type armed struct {
	Fault  string `json:"fault"` // its id
	Act    string `json:"act"`   // Kill (power-off begins as one) or Pause
	Moment string `json:"moment"`
	Detail string `json:"detail,omitempty"` // only this partition, path or API; "orders-*": all that begin so
}

// An answer says that an order is in force, or why it cannot be.
type answer struct {
	N     int64  `json:"n"`
	Count int    `json:"count,omitempty"` // of orderReset
	Error string `json:"error,omitempty"`
}

// What a fault's event says in Result when it comes from a broker.
const (
	resultReached = "reached" // the moment
	resultDropped = "dropped" // one message, as package link has it
)
