package answers

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

func registerConfigs() {
	add("describeconfigs/errors", func(t *T) {
		t.topic("t", nil)
		c := t.conn("leader")
		for _, x := range []string{
			`{"ResourceType":2,"ResourceName":"$t-missing","ConfigNames":null}`, `{"ResourceType":2,"ResourceName":"a b","ConfigNames":null}`, `{"ResourceType":2,"ResourceName":"","ConfigNames":null}`,
			`{"ResourceType":4,"ResourceName":"2","ConfigNames":["broker.id"]}`, `{"ResourceType":4,"ResourceName":"x","ConfigNames":["broker.id"]}`, `{"ResourceType":4,"ResourceName":"99","ConfigNames":["broker.id"]}`,
			`{"ResourceType":3,"ResourceName":"x","ConfigNames":null}`, `{"ResourceType":0,"ResourceName":"x","ConfigNames":null}`, `{"ResourceType":77,"ResourceName":"x","ConfigNames":null}`,
			`{"ResourceType":2,"ResourceName":"$t","ConfigNames":[]}`, `{"ResourceType":2,"ResourceName":"$t","ConfigNames":["no.such"]}`, `{"ResourceType":8,"ResourceName":"2","ConfigNames":null}`, `{"ResourceType":8,"ResourceName":"1","ConfigNames":["root"]}`} {
			c.do("DescribeConfigs", 3, `{"Resources":[`+x+`]}`)
		}
		c.do("DescribeConfigs", 1, `{"Resources":[{"ResourceType":2,"ResourceName":"$t","ConfigNames":["retention.ms"]},{"ResourceType":2,"ResourceName":"$t","ConfigNames":["segment.ms"]}]}`)
	})
	// The full lists: values, types, sources, flags, synonyms; see also configs.json.
	add("describeconfigs/all-topic-keys", func(t *T) {
		t.topic("t", nil)
		t.conn("leader").do("DescribeConfigs", 3, `{"IncludeSynonyms":true,"Resources":[{"ResourceType":2,"ResourceName":"$t","ConfigNames":null}]}`)
	})
	add("describeconfigs/all-broker-keys", func(t *T) {
		t.vars["zk"] = ""
		c := t.conn("leader")
		p := c.send("DescribeConfigs", 3, `{"IncludeSynonyms":true,"Resources":[{"ResourceType":4,"ResourceName":"1","ConfigNames":null}]}`)
		r := p.quiet().(*kmsg.DescribeConfigsResponse)
		for i := range r.Resources[0].Configs {
			x := &r.Resources[0].Configs[i]
			if x.Name == "zookeeper.connect" || x.Name == "log.dir" || x.Name == "log.dirs" || x.Name == "listeners" || x.Name == "port" || x.Name == "metadata.log.dir" {
				norm := func(s *string) *string {
					if s == nil || *s == "" || *s == "9092" || *s == "/tmp/kafka-logs" && x.Name == "log.dir" {
						return s
					}
					return ptr("(this machine)")
				}
				x.Value = norm(x.Value)
				for j := range x.ConfigSynonyms {
					x.ConfigSynonyms[j].Value = norm(x.ConfigSynonyms[j].Value)
				}
			}
		}
		t.note(c.to, p.api, p.version, p.text, t.dump(r))
	})
}
