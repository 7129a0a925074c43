package journal

import "encoding/json"

// MarshalJSON leaves out what a reader would take for facts: partition, leader epoch and
// leader of an event that is about no partition, leader and epoch where the log speaks,
// which knows neither.
func (e Event) MarshalJSON() ([]byte, error) {
	type plain Event // without this method
	type absent *struct{}
	switch {
	case e.Topic == "":
		return json.Marshal(struct {
			plain
			Partition   absent `json:"partition,omitempty"` // the outer field hides the inner one
			LeaderEpoch absent `json:"leaderEpoch,omitempty"`
			Leader      absent `json:"leader,omitempty"`
		}{plain: plain(e)})
	case e.Kind == Roll || e.Kind == Flush || e.Kind == Recovery:
		return json.Marshal(struct {
			plain
			LeaderEpoch absent `json:"leaderEpoch,omitempty"`
			Leader      absent `json:"leader,omitempty"`
		}{plain: plain(e)})
	}
	return json.Marshal(plain(e))
}
