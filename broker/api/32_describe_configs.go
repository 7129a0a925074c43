package api

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/broker/admin"
	"kz/internal/kafkaerr"
)

// DescribeConfigs, versions 0 to 4, of topics and of this broker.
//
// Left out: BROKER_LOGGER is checked as in Kafka and has no entries, because kz has no
// named loggers; listener.name.* overrides. IsDefault, which only version 0 has, is
// always false, as in Kafka 2.8.

// malformed is Kafka's general text for INVALID_REQUEST.
const malformed = "This most likely occurs because of a request being malformed by the client library or the message was sent to an incompatible broker. See the broker logs for more details."

func (a *API) describeConfigs(c *call) {
	var req kmsg.DescribeConfigsRequest
	if !c.decode(&req) {
		return
	}
	c.detach()
	resp := kmsg.NewPtrDescribeConfigsResponse()
	unknown := slices.ContainsFunc(req.Resources, func(r kmsg.DescribeConfigsRequestResource) bool {
		return r.ResourceType != kmsg.ConfigResourceTypeTopic && r.ResourceType != kmsg.ConfigResourceTypeBroker && r.ResourceType != kmsg.ConfigResourceTypeBrokerLogger
	})
	for _, r := range req.Resources {
		rr := kmsg.NewDescribeConfigsResponseResource()
		rr.ResourceType, rr.ResourceName = r.ResourceType, r.ResourceName
		rr.Configs = []kmsg.DescribeConfigsResponseResourceConfig{}
		entries, err := a.describe(&r)
		if unknown { // one resource of a strange type spoils them all
			entries, err = nil, kafkaerr.New(kafkaerr.InvalidRequest, malformed)
		}
		message := kafkaerr.MessageOf(err)
		rr.ErrorCode, rr.ErrorMessage = codeOf(err), &message // "" and not null, as Kafka does
		entries = slices.DeleteFunc(entries, func(e admin.Entry) bool {
			return len(r.ConfigNames) > 0 && !slices.Contains(r.ConfigNames, e.Name)
		})
		for _, e := range admin.InHashOrder(entries) {
			rr.Configs = append(rr.Configs, describedConfig(&req, e))
		}
		resp.Resources = append(resp.Resources, rr)
	}
	c.respond(resp)
}

func (a *API) describe(r *kmsg.DescribeConfigsRequestResource) ([]admin.Entry, error) {
	switch r.ResourceType {
	case kmsg.ConfigResourceTypeTopic:
		return a.d.Configs.DescribeTopic(a.ctx, r.ResourceName, len(a.d.Metadata.Current().Topics[r.ResourceName]) > 0)
	case kmsg.ConfigResourceTypeBroker:
		return a.d.Configs.DescribeBroker(r.ResourceName)
	}
	return nil, a.checkLogger(r.ResourceName)
}

func (a *API) checkLogger(name string) error {
	id, err := strconv.ParseInt(name, 10, 32)
	switch {
	case name == "":
		return kafkaerr.New(kafkaerr.InvalidRequest, "Broker id must not be empty")
	case err != nil:
		return kafkaerr.New(kafkaerr.InvalidRequest, "Broker id must be an integer, but it is: "+name)
	case int32(id) != a.d.Config.BrokerID:
		return kafkaerr.New(kafkaerr.InvalidRequest, fmt.Sprintf("Unexpected broker id, expected %d but received %s", a.d.Config.BrokerID, name))
	}
	return nil
}

func describedConfig(req *kmsg.DescribeConfigsRequest, e admin.Entry) kmsg.DescribeConfigsResponseResourceConfig {
	rc := kmsg.NewDescribeConfigsResponseResourceConfig()
	rc.Name, rc.Value, rc.ReadOnly, rc.IsSensitive = e.Name, e.Value, e.ReadOnly, e.Sensitive
	rc.Source = kmsg.ConfigSource(e.Source)
	rc.ConfigType = kmsg.ConfigType(e.Type)
	rc.ConfigSynonyms = []kmsg.DescribeConfigsResponseResourceConfigConfigSynonym{}
	if req.IncludeSynonyms {
		for _, s := range e.Synonyms {
			rs := kmsg.NewDescribeConfigsResponseResourceConfigConfigSynonym()
			rs.Name, rs.Value, rs.Source = s.Name, s.Value, kmsg.ConfigSource(s.Source)
			rc.ConfigSynonyms = append(rc.ConfigSynonyms, rs)
		}
	}
	if req.IncludeDocumentation {
		rc.Documentation = &e.Doc
	}
	return rc
}
