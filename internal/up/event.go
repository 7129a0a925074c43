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

	text []byte // as the process wrote it, while it is merged; else nil
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
	var b bytes.Buffer
	err := e.appendLine(&b)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// appendLine is MarshalJSON for a file. What a process wrote is not written anew: a busy
// cluster has thousands of events a second.
func (e Event) appendLine(b *bytes.Buffer) error {
	head, err := json.Marshal(eventHead{e.Seq, e.At, e.Src, e.SrcSeq})
	if err != nil {
		return err
	}
	body := e.text
	if body == nil {
		if body, err = json.Marshal(e.Event); err != nil {
			return err
		}
	}
	_, rest, ok := bytes.Cut(body, []byte(","))
	if !ok {
		return fmt.Errorf("an event of one field: %s", body)
	}
	b.Write(head[:len(head)-1])
	b.WriteByte(',')
	b.Write(rest)
	b.WriteByte('\n')
	return nil
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
