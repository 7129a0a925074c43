package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"kz/broker/group"
)

// formatStoredOffset prints the records of __consumer_offsets that are offsets, as
// Kafka's OffsetsMessageFormatter does, Scala's case classes included.
func formatStoredOffset(w io.Writer, r shownRecord) error {
	s, err := group.ReadStored(r.Key, r.Value)
	if err != nil || !s.IsOffset {
		return err
	}
	text := "NULL"
	if o := s.Offset; o != nil {
		epoch := "Optional.empty"
		if o.LeaderEpoch >= 0 {
			epoch = fmt.Sprintf("Optional[%d]", o.LeaderEpoch)
		}
		expires := "None"
		if o.ExpireTimestamp >= 0 {
			expires = some(strconv.FormatInt(o.ExpireTimestamp, 10))
		}
		text = fmt.Sprintf("OffsetAndMetadata(offset=%d, leaderEpoch=%s, metadata=%s, commitTimestamp=%d, expireTimestamp=%s)",
			o.Offset, epoch, o.Metadata, o.CommitTimestamp, expires)
	}
	_, err = fmt.Fprintf(w, "[%s,%s,%d]::%s\n", s.Group, s.Partition.Topic, s.Partition.Partition, text)
	return err
}

// formatStoredGroup prints the records that are about groups themselves, as Kafka's
// GroupMetadataMessageFormatter does.
func formatStoredGroup(w io.Writer, r shownRecord) error {
	s, err := group.ReadStored(r.Key, r.Value)
	if err != nil || s.IsOffset {
		return err
	}
	text := "NULL"
	if g := s.Generation; g != nil {
		state, protocol, kind := "Stable", "", "None"
		if len(g.Members) == 0 {
			state = "Empty"
		}
		if g.Protocol != nil {
			protocol = *g.Protocol
		}
		if g.ProtocolType != "" {
			kind = some(g.ProtocolType)
		}
		var members []string
		for _, m := range g.Members {
			instance := "None"
			if m.InstanceID != nil {
				instance = some(*m.InstanceID)
			}
			members = append(members, fmt.Sprintf("%s -> MemberMetadata(memberId=%s, groupInstanceId=%s, clientId=%s, clientHost=%s, sessionTimeoutMs=%d, rebalanceTimeoutMs=%d, supportedProtocols=List(%s), )",
				m.ID, m.ID, instance, m.ClientID, m.ClientHost, m.SessionTimeoutMs, m.RebalanceTimeoutMs, protocol))
		}
		text = fmt.Sprintf("GroupMetadata(groupId=%s, generation=%d, protocolType=%s, currentState=%s, members=HashMap(%s))",
			s.Group, g.Generation, kind, state, strings.Join(members, ", "))
	}
	_, err = fmt.Fprintf(w, "%s::%s\n", s.Group, text)
	return err
}

// some is Scala's Some(x).
func some(s string) string { return "Some(" + s + ")" }
