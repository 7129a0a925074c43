package answers

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kz/internal/fidelity"
)

// Of what kz does not serve, everything that Kafka was asked is asked here too, once per API and
// version: it is not advertised, and the connection closes without an answer. When an API becomes
// served, its cases have to be written here, and this test says which.
func TestWhatIsNotServedIsRefused(t *testing.T) {
	e := start(t, true)
	written := map[string]bool{}
	for _, c := range cases {
		written[c.name] = true
	}
	asked, missing := map[string]bool{}, map[string]bool{}
	count := newTally(fidelity.Open(t, "answers/unwritten"), "unwritten") // of the cases that are not written here
	for _, file := range []string{"golden", "fresh", "down"} {
		all := golden(t, file)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			steps := all[name]
			if !written[name] {
				count.add(steps, nil, firstRefused(steps))
				missing[name] = allServed(steps)
			}
			for _, x := range steps {
				what := fmt.Sprint(x.API, " v", x.Version)
				if x.served() || asked[what] || !strings.HasPrefix(x.Request, "{") {
					continue
				}
				asked[what] = true
				e.checkRefusal(t, x)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		if !missing[name] {
			continue
		}
		t.Errorf("all that %s asks is served now: write the case", name)
	}
	t.Logf("%d APIs and versions are refused", len(asked))
	count.report(t)
}

// firstRefused is the API that keeps a case from being written.
func firstRefused(steps []exchange) string {
	for _, x := range steps {
		if !x.served() {
			return unserved(x.API)
		}
	}
	return ""
}

// allServed says whether kz serves all that a case asks.
func allServed(steps []exchange) bool {
	for _, x := range steps {
		if !x.served() {
			return false
		}
	}
	return true
}

var variable = regexp.MustCompile(`\$(pid|epoch|controller|sid2?|live)`)

// checkRefusal asks x, with values of no meaning in the place of the case's.
func (e *environment) checkRefusal(t *testing.T, x exchange) {
	t.Helper()
	c := &T{tb: t, env: e, vars: map[string]string{}, bin: map[string][]byte{}}
	for _, m := range regexp.MustCompile(`@[^"]*`).FindAllString(x.Request, -1) {
		c.bin[m[1:]] = good
	}
	conn := c.conn("leader")
	p := conn.send(x.API, int16(x.Version.(float64)), variable.ReplaceAllString(x.Request, "1"))
	if b, err := conn.readFrame(patience); err != errClosed {
		t.Errorf("%s v%v is not advertised, so the connection must close: got %x, %v", x.API, x.Version, b, err)
	}
	if r, ok := rangeOf(p.api); ok {
		for _, k := range kafkaAPIs(t) {
			if apiName(k.ApiKey) == p.api && r.Max != k.MaxVersion {
				t.Errorf("%s: kz serves up to version %d, Kafka up to %d", p.api, r.Max, k.MaxVersion)
			}
		}
	}
}
