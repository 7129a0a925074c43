package zkconsumer

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"kz/internal/topic"
	"kz/zkpaths"
)

// The znodes of a group.
func idsPath(group string) string { return zkpaths.Consumers + "/" + group + "/ids" }

func idPath(group, id string) string { return idsPath(group) + "/" + id }

func ownerPath(group, topic string, p int32) string {
	return zkpaths.Consumers + "/" + group + "/owners/" + topic + "/" + strconv.Itoa(int(p))
}

// How a member says what it wants.
const (
	static    = "static"     // topics by name
	whiteList = "white_list" // topics that match
	blackList = "black_list" // topics that do not
)

// registration is the data of /consumers/<group>/ids/<member>.
//
//	written by  the member, at its start and after each expiry of its session
//	guarded by  its session: the node is ephemeral
//	watched by  every member of the group (the list of children, not the data)
//
//	{"version":1,"subscription":{"test":2},"pattern":"static","timestamp":"1416289800123"}
//
// The subscription says with how many streams each topic is read; with a pattern it has
// one entry, the regular expression.
type registration struct {
	Version      int            `json:"version"`
	Subscription map[string]int `json:"subscription"`
	Pattern      string         `json:"pattern"`
	Timestamp    string         `json:"timestamp"`
}

func (r registration) encode() []byte {
	b, err := json.Marshal(r)
	if err != nil {
		panic("zkconsumer: " + err.Error()) // strings and numbers only
	}
	return b
}

func decodeRegistration(b []byte) (registration, error) {
	var r registration
	if err := json.Unmarshal(b, &r); err != nil {
		return r, fmt.Errorf("member's registration %.200q: %w", b, err)
	}
	if r.Pattern == "" {
		r.Pattern = static // 0.8.0 wrote none
	}
	if !slices.Contains([]string{static, whiteList, blackList}, r.Pattern) {
		return r, fmt.Errorf("member's registration has the unknown pattern %q", r.Pattern)
	}
	return r, nil
}

// streams is with how many streams the member reads each topic, of those that exist. A
// pattern matches Kafka's own topics only if internal says so. Mirrors TopicFilter.isTopicAllowed.
func (r registration) streams(existing []string, internal bool) (map[string]int, error) {
	if r.Pattern == static {
		return r.Subscription, nil
	}
	out := map[string]int{}
	for expr, n := range r.Subscription {
		re, err := regexp.Compile("^(?:" + expr + ")$")
		if err != nil {
			return nil, err
		}
		for _, t := range existing {
			if re.MatchString(t) == (r.Pattern == whiteList) && (internal || !topic.IsInternal(t)) {
				out[t] = n
			}
		}
	}
	return out, nil
}

// threads names the streams of a member: <member>-0, <member>-1 …
func threads(member string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = member + "-" + strconv.Itoa(i)
	}
	return out
}
