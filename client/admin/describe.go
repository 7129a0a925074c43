package admin

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/client"
	"kz/internal/kafkaerr"
)

// ConfigEntry is one key as DescribeConfigs shows it.
type ConfigEntry struct {
	Name      string
	Value     string // "" for a sensitive one
	Default   bool   // comes from Kafka's own defaults
	ReadOnly  bool
	Sensitive bool
	Source    string // DYNAMIC_TOPIC_CONFIG, STATIC_BROKER_CONFIG, DEFAULT_CONFIG …
}

// TopicConfigs describes every key of the named topics, in the broker's order. Beside an
// error, which names each topic that could not be described, stand the others.
func (a *Admin) TopicConfigs(ctx context.Context, topics []string) (map[string][]ConfigEntry, error) {
	req := kmsg.NewPtrDescribeConfigsRequest()
	for _, t := range topics {
		r := kmsg.NewDescribeConfigsRequestResource()
		r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeTopic, t
		req.Resources = append(req.Resources, r)
	}
	out := map[string][]ConfigEntry{}
	var faults []error
	err := a.call(ctx, "describeConfigs", func(ctx context.Context, _ int) error {
		resp, err := a.c.Any(ctx, req)
		if err != nil {
			return err
		}
		faults = nil
		for _, r := range resp.(*kmsg.DescribeConfigsResponse).Resources {
			if err := refusal(r.ErrorCode, r.ErrorMessage); err != nil {
				if client.Retriable(err) {
					return err
				}
				faults = append(faults, fmt.Errorf("configs of topic %s: %w", r.ResourceName, err))
				continue
			}
			out[r.ResourceName] = entries(r, resp.GetVersion())
		}
		return nil
	})
	if err == nil {
		err = errors.Join(faults...)
	}
	return out, err
}

func entries(r kmsg.DescribeConfigsResponseResource, version int16) []ConfigEntry {
	out := make([]ConfigEntry, 0, len(r.Configs))
	for _, c := range r.Configs {
		e := ConfigEntry{Name: c.Name, Default: c.IsDefault, ReadOnly: c.ReadOnly, Sensitive: c.IsSensitive}
		if c.Value != nil {
			e.Value = *c.Value
		}
		if version >= 1 {
			// Java's ConfigEntry.isDefault: the value is Kafka's, not one of a topic, a dynamic broker config or server.properties.
			e.Source = c.Source.String()
			e.Default = c.Source == kmsg.ConfigSourceDefaultConfig
		}
		out = append(out, e)
	}
	return out
}

// ClusterDescription is the cluster as a whole.
type ClusterDescription struct {
	ID         string
	Controller int32
	Brokers    []client.Broker
}

// DescribeCluster asks any broker. One that does not know the API is asked for its metadata.
func (a *Admin) DescribeCluster(ctx context.Context) (ClusterDescription, error) {
	var out ClusterDescription
	err := a.call(ctx, "listNodes", func(ctx context.Context, _ int) error {
		resp, err := a.c.Any(ctx, kmsg.NewPtrDescribeClusterRequest())
		if kafkaerr.CodeOf(err) == kafkaerr.UnsupportedVersion {
			return a.clusterFromMetadata(ctx, &out)
		}
		if err != nil {
			return err
		}
		r := resp.(*kmsg.DescribeClusterResponse)
		if err := refusal(r.ErrorCode, r.ErrorMessage); err != nil {
			return err
		}
		out = ClusterDescription{ID: r.ClusterID, Controller: r.ControllerID}
		for _, b := range r.Brokers {
			nb := client.Broker{ID: b.NodeID, Addr: client.Address(b.Host, b.Port)}
			if b.Rack != nil {
				nb.Rack = *b.Rack
			}
			out.Brokers = append(out.Brokers, nb)
		}
		return nil
	})
	return out, err
}

func (a *Admin) clusterFromMetadata(ctx context.Context, out *ClusterDescription) error {
	cl, err := a.c.Metadata(ctx, []string{}, false)
	if err != nil {
		return err
	}
	*out = ClusterDescription{ID: cl.ID, Controller: cl.Controller}
	for _, b := range cl.Brokers {
		out.Brokers = append(out.Brokers, b)
	}
	return nil
}
