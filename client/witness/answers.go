package witness

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// said is what a broker answered to one question: lines by what each is about. An answer about
// partitions has a line for each; any other is one line.
type said map[string]string

// heard turns an answer into lines. Fields are compared as they came; only the order in which a broker
// lists the cluster's brokers and topics is left out, for Kafka's own brokers differ there.
func heard(resp kmsg.Response) said {
	out := said{}
	switch r := resp.(type) {
	case *kmsg.MetadataResponse:
		slices.SortFunc(r.Brokers, func(a, b kmsg.MetadataResponseBroker) int { return cmp.Compare(a.NodeID, b.NodeID) })
		for i := range r.Topics {
			t := &r.Topics[i]
			for _, p := range t.Partitions {
				out[fmt.Sprintf("%s-%d", name(t.Topic), p.Partition)] = asJSON(p)
			}
			t.Partitions = nil
			out[name(t.Topic)] = asJSON(*t)
		}
		r.Topics = nil
	case *kmsg.DescribeClusterResponse:
		slices.SortFunc(r.Brokers, func(a, b kmsg.DescribeClusterResponseBroker) int { return cmp.Compare(a.NodeID, b.NodeID) })
	case *kmsg.ListOffsetsResponse:
		for i := range r.Topics {
			for _, p := range r.Topics[i].Partitions {
				out[fmt.Sprintf("%s-%d", r.Topics[i].Topic, p.Partition)] = asJSON(p)
			}
			r.Topics[i].Partitions = nil
		}
	case *kmsg.FetchResponse:
		for i := range r.Topics {
			for _, p := range r.Topics[i].Partitions {
				bytes := p.RecordBatches
				p.RecordBatches = nil
				out[fmt.Sprintf("%s-%d", r.Topics[i].Topic, p.Partition)] = fmt.Sprintf("%s %d bytes, SHA-256 %x", asJSON(p), len(bytes), sha256.Sum256(bytes))
			}
			r.Topics[i].Partitions = nil
		}
	case *kmsg.OffsetForLeaderEpochResponse:
		for i := range r.Topics {
			for _, p := range r.Topics[i].Partitions {
				out[fmt.Sprintf("%s-%d", r.Topics[i].Topic, p.Partition)] = asJSON(p)
			}
			r.Topics[i].Partitions = nil
		}
	case *kmsg.ProduceResponse:
		for i := range r.Topics {
			for _, p := range r.Topics[i].Partitions {
				out[fmt.Sprintf("%s-%d", r.Topics[i].Topic, p.Partition)] = asJSON(p)
			}
			r.Topics[i].Partitions = nil
		}
	}
	out[""] = asJSON(resp) // what is left
	return out
}

func name(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil { // kmsg's structs hold nothing that JSON cannot
		return err.Error()
	}
	return string(b)
}
