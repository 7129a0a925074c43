package up

import (
	"bytes"
	"encoding/json"
	"fmt"

	"kz/internal/journal"
)

// SourceSupervisor is the Src of what the supervisor itself did: faults, starts, ends.
const SourceSupervisor = "supervisor"

// An Event is an event of one process in the one order of the whole cluster. Seq is
// that order's; the process itself counted the event as SrcSeq.
//
//	{"seq":812,"t_ms":1712000000123,"src":"broker-2","srcSeq":97,"kind":"partition.leader", …
type Event struct {
	journal.Event
	At     int64  // the supervisor's clock when it read the event, in ms; nobody else's clock is asked
	Src    string // "zookeeper", "broker-1", SourceSupervisor
	SrcSeq int64
}

// eventHead is what an Event has before the fields of a journal.Event.
type eventHead struct {
	Seq    int64  `json:"seq"`
	At     int64  `json:"t_ms"`
	Src    string `json:"src"`
	SrcSeq int64  `json:"srcSeq,omitempty"`
}

// MarshalJSON puts the head in the place of the process's own sequence number.
func (e Event) MarshalJSON() ([]byte, error) {
	head, err := json.Marshal(eventHead{e.Seq, e.At, e.Src, e.SrcSeq})
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(e.Event)
	if err != nil {
		return nil, err
	}
	_, rest, ok := bytes.Cut(body, []byte(","))
	if !ok {
		return nil, fmt.Errorf("an event of one field: %s", body)
	}
	return append(append(head[:len(head)-1], ','), rest...), nil
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (e *Event) UnmarshalJSON(b []byte) error {
	var head eventHead
	if err := json.Unmarshal(b, &head); err != nil {
		return err
	}
	e.At, e.Src, e.SrcSeq = head.At, head.Src, head.SrcSeq
	return json.Unmarshal(b, &e.Event)
}
