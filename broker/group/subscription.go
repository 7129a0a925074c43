package group

import "maps"

// consumerType is the protocol type of consumer groups: the only one whose metadata the
// coordinator looks into, to know which topics the group reads.
const consumerType = "consumer"

// topics is a set of topic names; nil means that it is not known.
type topics map[string]bool

// subscribedTopics is what the members of a consumer group subscribe to. nil: it is no
// consumer group, its protocol is not decided, or some member's metadata cannot be read.
// Mirrors GroupMetadata.computeSubscribedTopics.
func (s *membership) subscribedTopics(protocol *string) topics {
	if s.protocolType != consumerType {
		return nil
	}
	if len(s.order) == 0 {
		return topics{}
	}
	if protocol == nil {
		return nil
	}
	all := topics{}
	for _, m := range s.order {
		data, _ := m.metadata(*protocol)
		names, ok := parseSubscription(data)
		if !ok {
			return nil
		}
		maps.Copy(all, names)
	}
	return all
}

// parseSubscription reads the topics of a consumer's subscription. Later versions only
// append to version 0, so its part is read of any.
//
//	version i16, whatever it says
//	topics  i32 count, then each: i16 length, UTF-8
//	userData bytes …
func parseSubscription(b []byte) (topics, bool) {
	r := reader{b: b}
	_, n := r.i16(), r.i32()
	if n < 0 || int(n) > len(r.b)/2 {
		return nil, false
	}
	names := topics{}
	for range n {
		names[r.str()] = true
	}
	r.nullableBytes() // userData: must be there
	return names, r.ok()
}
