package cli

import (
	"errors"
	"fmt"
	"strings"

	"kz/broker/group"
	"kz/client/assignor"
	"kz/internal/record"
)

// asText shows a record's key and payload as they are.
func asText(r record.Record) (key, payload *string, err error) {
	show := func(b []byte) *string {
		if b == nil {
			return nil
		}
		s := text(b)
		return &s
	}
	return show(r.Key), show(r.Value), nil
}

// asStored shows what a record of __consumer_offsets says.
// Mirrors GroupMetadataManager.formatRecordKeyAndValue.
func asStored(r record.Record) (key, payload *string, err error) {
	const cannot = "Failed to decode message using offset topic decoder (message had %s key)"
	if r.Key == nil {
		return nil, nil, fmt.Errorf(cannot, "a missing")
	}
	s, err := group.ReadStored(r.Key, r.Value)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf(cannot, "an invalid"), err)
	}
	k, v := "group_metadata::group="+s.Group, "<DELETE>"
	if s.IsOffset {
		k = "offset_commit::group=" + s.Group + ",partition=" + s.Partition.String()
	}
	switch {
	case s.Offset != nil:
		if v = fmt.Sprintf("offset=%d", s.Offset.Offset); s.Offset.Metadata != "" {
			v += ",metadata=" + s.Offset.Metadata
		}
	case s.Generation != nil:
		if v, err = generationText(s.Generation); err != nil {
			return nil, nil, err
		}
	}
	return &k, &v, nil
}

// generationText is a generation as the JSON that Kafka's tool prints.
func generationText(g *group.StoredGroup) (string, error) {
	var members []string
	for _, m := range g.Members {
		assigned := hexNumber(m.Assignment)
		if g.ProtocolType == "consumer" {
			parts, userData, err := assignor.DecodeAssignmentData(m.Assignment)
			if err != nil {
				return "", err
			}
			var names []string
			for _, p := range parts {
				names = append(names, p.String())
			}
			if assigned = "[" + strings.Join(names, ", ") + "]"; len(userData) > 0 {
				assigned += ":" + hexNumber(userData)
			}
		}
		members = append(members, m.ID+"="+assigned)
	}
	protocol := "null"
	if g.Protocol != nil {
		protocol = jsonText(*g.Protocol)
	}
	return fmt.Sprintf(`{"protocolType":%s,"protocol":%s,"generationId":%d,"assignment":%s}`,
		jsonText(g.ProtocolType), protocol, g.Generation, jsonText("{"+strings.Join(members, ",")+"}")), nil
}

// hexNumber is bytes as one number, as Java's %X prints it: without zeros in front.
func hexNumber(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if s := strings.TrimLeft(fmt.Sprintf("%X", b), "0"); s != "" {
		return s
	}
	return "0"
}

// jsonText is a string as JSON, with the letters it has.
func jsonText(s string) string {
	var b strings.Builder
	_ = printLine(&b, s) // a string can always be written
	return strings.TrimSuffix(b.String(), "\n")
}
