package znodes

import (
	"bufio"
	"encoding/json"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"kz/internal/fidelity"
)

// otherAct are the steps in which one act is another one to the same effect.
var otherAct = map[string]string{
	"28-zombie-controller":       "no ElectLeaders request waits in the frozen controller's socket",
	"29-deposed-controller":      "the controller is asked to let a broker go, not to reassign a partition",
	"43-unclean-by-topic-config": "the test changes the topic's config",
	"44-last-replica-returns":    "the topic's config is the test's",
	"46-broker-returns":          "the topic's config is the test's; leader 2 came of it and not of an ElectLeaders request",
	"47-preferred-by-znode":      "the test creates the znode",
	"65-delete-disabled":         "no DeleteTopics request before; the test creates the mark",
}

// account enters a step that was equal: the step, and each kind of znode that Kafka wrote in it.
func (c *cluster) account(name string, rules []rule) {
	c.sheet.Add("step", name, fidelity.Same, otherAct[name])
	for _, w := range load(c.t, name).writes {
		for _, o := range w.ops() {
			if o.Path == "" { // a session's beginning or end
				continue
			}
			verdict, why := fidelity.Same, ""
			for _, r := range rules {
				if r.about != nil && r.about(w, o) {
					verdict, why = r.verdict, r.row
				}
			}
			c.sheet.Add(family(strings.TrimPrefix(o.Path, c.chroot)), name, verdict, why)
		}
	}
}

// An undriven step is one of testdata/undriven.jsonl: what it needs, and what Kafka wrote in it.
type undriven struct {
	Step   string
	Needs  string
	Znodes map[string]int
}

// The steps that kz cannot be driven through are in the account, too, with the system that is missing.
func TestStepsNotDriven(t *testing.T) {
	sheet := fidelity.Open(t, "znodes/not-driven")
	f, err := os.Open("testdata/undriven.jsonl")
	must(t, err)
	defer f.Close()
	for in := bufio.NewScanner(f); in.Scan(); {
		var u undriven
		must(t, json.Unmarshal(in.Bytes(), &u))
		if _, err := os.Stat(path.Join("testdata", u.Step+".jsonl")); err == nil || u.Needs == "" {
			t.Errorf("%s: driven, or nothing is missing", u.Step)
		}
		sheet.Add("step", u.Step, fidelity.Refused, u.Needs)
		for znode, n := range u.Znodes {
			sheet.AddN(znode, u.Step, fidelity.Refused, u.Needs, n)
		}
	}
}

// families turn a path into the kind of znode it is, the first that matches.
var families = []struct {
	path *regexp.Regexp
	kind string
}{
	{regexp.MustCompile(`^/brokers/ids/[^/]+$`), "/brokers/ids/<id>"},
	{regexp.MustCompile(`^/brokers/topics/[^/]+$`), "/brokers/topics/<topic>"},
	{regexp.MustCompile(`^/brokers/topics/[^/]+/partitions$`), "/brokers/topics/<topic>/partitions"},
	{regexp.MustCompile(`^/brokers/topics/[^/]+/partitions/\d+$`), "/brokers/topics/<topic>/partitions/<n>"},
	{regexp.MustCompile(`^/brokers/topics/[^/]+/partitions/\d+/state$`), "/brokers/topics/<topic>/partitions/<n>/state"},
	{regexp.MustCompile(`^/config/changes/`), "/config/changes/config_change_<n>"},
	{regexp.MustCompile(`^/config/(topics|brokers|clients|ips)/[^/]+$`), "/config/$1/<name>"},
	{regexp.MustCompile(`^/config/users/[^/]+$`), "/config/users/<name>"},
	{regexp.MustCompile(`^/config/users/[^/]+/clients(/[^/]+)?$`), "/config/users/<name>/clients"},
	{regexp.MustCompile(`^/isr_change_notification/`), "/isr_change_notification/isr_change_<n>"},
	{regexp.MustCompile(`^/log_dir_event_notification/`), "/log_dir_event_notification/log_dir_event_<n>"},
	{regexp.MustCompile(`^/admin/delete_topics/`), "/admin/delete_topics/<topic>"},
	{regexp.MustCompile(`^/consumers/`), "/consumers/<group>/…"},
	{regexp.MustCompile(`^/kafka-acl-(extended-)?changes/`), "/kafka-acl-${1}changes/<n>"},
	{regexp.MustCompile(`^/kafka-acl/.*`), "/kafka-acl/…"},
	{regexp.MustCompile(`^/kafka-acl-extended/.*`), "/kafka-acl-extended/…"},
	{regexp.MustCompile(`^/delegation_token/tokens/.*`), "/delegation_token/tokens/<id>"},
	{regexp.MustCompile(`^/delegation_token/token_changes/.*`), "/delegation_token/token_changes/<n>"},
	{regexp.MustCompile(`^(/kz)?$`), "the chroot"},
}

func family(p string) string {
	for _, f := range families {
		if m := f.path.FindStringSubmatchIndex(p); m != nil {
			return string(f.path.ExpandString(nil, f.kind, p, m))
		}
	}
	return p
}
