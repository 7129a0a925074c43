package answers

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"kz/internal/fidelity"
)

// alone matches the cases that look at the clock or change something that all cases share.
var alone = regexp.MustCompile(`^(fetch/max-wait|controller/|versions/(UpdateMetadata|LeaderAndIsr|StopReplica)/)`)

// Every recorded case that is written here is asked again, and every answer compared.
func TestAnswers(t *testing.T) {
	if testing.Short() {
		t.Skip("three brokers and some hundred cases")
	}
	want := golden(t, "golden")
	e := start(t, false)
	count := newTally(fidelity.Open(t, "answers/golden"), "golden")
	t.Run("together", func(t *testing.T) {
		for _, c := range cases {
			if !alone.MatchString(c.name) && !special(c.name) {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					e.check(t, c, want[c.name], count)
				})
			}
		}
	})
	for _, c := range cases {
		if alone.MatchString(c.name) {
			t.Run(c.name, func(t *testing.T) { e.check(t, c, want[c.name], count) })
		}
	}
	count.report(t)
	if count.cases == len(registered()) && !t.Failed() {
		reportUnused(t, func(a allowedGap) bool { return !special(a.cases) })
	}
}

// The cases that need a cluster for themselves: nobody has used it yet, or broker 3 is stopped.
func TestAnswersOfOtherClusters(t *testing.T) {
	sheet := fidelity.Open(t, "answers/other-clusters")
	for _, kind := range []string{"fresh", "down"} {
		want := golden(t, kind)
		e := start(t, kind == "fresh")
		count := newTally(sheet, kind)
		for _, c := range cases {
			if strings.HasPrefix(c.name, kind+"/") {
				t.Run(c.name, func(t *testing.T) { e.check(t, c, want[c.name], count) })
			}
		}
		count.report(t)
		if count.cases > 0 && !t.Failed() {
			reportUnused(t, func(a allowedGap) bool { return strings.HasPrefix(a.cases, kind+"/") })
		}
	}
}

// special says which cases need a cluster of their own.
func special(name string) bool {
	return strings.HasPrefix(name, "fresh/") || strings.HasPrefix(name, "down/")
}

// registered is the cases of the common cluster.
func registered() []testCase {
	return slices.DeleteFunc(slices.Clone(cases), func(c testCase) bool { return special(c.name) })
}

// check runs one case and compares its answers with Kafka's.
func (e *environment) check(t *testing.T, c testCase, want []exchange, count *tally) {
	if len(want) == 0 {
		t.Fatal("the golden file has no such case")
	}
	got, why := e.runCase(t, c, want)
	var outcomes []outcome // one for each answer
	lost := ""             // what is missing of which a step that was refused would have written something
	for i, g := range got {
		if i >= len(want) {
			t.Fatalf("step %d is one more than Kafka was asked", g.Step)
		}
		w := want[i]
		if w.API != g.API || w.Request != g.Request || fmt.Sprint(w.Version) != versionText(g.Version) || w.To != g.To {
			t.Fatalf("step %d asks something else:\nKafka was asked %s %s v%v %s\nkz is asked %s %s v%v %s", g.Step, w.To, w.API, w.Version, w.Request, g.To, g.API, g.Version, g.Request)
		}
		if g.refused {
			outcomes = append(outcomes, outcome{refused, unserved(g.API)})
			if g.API == "Produce" {
				lost = unserved(g.API)
			}
			continue
		}
		o, bad := judge(c.name, g.Step, gaps("", asServed(w), canonical(t, g.Answer)), &lost)
		outcomes = append(outcomes, o)
		if o.word == wrong {
			t.Errorf("step %d, %s v%v to %s, %s", g.Step, g.API, g.Version, g.To, g.Request)
			for _, d := range bad {
				t.Errorf("    %v", d)
			}
		}
	}
	rest := len(want) - len(got)
	if rest > 0 && why == "" {
		t.Errorf("%d steps of Kafka's were not asked", rest)
	}
	if why != "" && !strings.HasSuffix(why, "is not served") && allow(c.name, len(got)+1, gap{Field: caseStopped, KZ: why}) == nil {
		t.Errorf("the case stopped at step %d: %s", len(got)+1, why)
	}
	count.add(want, outcomes, missingSystem(why))
}

// judge finds the outcome of one step, and the gaps that nothing allows. lost is what is missing of
// which an earlier step would have written something; a step that is such a one sets it.
func judge(name string, step int, all []gap, lost *string) (o outcome, bad []gap) {
	o.word = equal
	for _, d := range all {
		if a := allow(name, step, d); a != nil && a.refuses {
			*lost = a.row
			o = outcome{refused, a.row}
		}
	}
	for _, d := range all {
		a := allow(name, step, d)
		switch {
		case a != nil:
			if o.word == equal || o.word == after {
				o = outcome{allowed, a.row}
			}
		case *lost != "" && afterWrite.MatchString(d.Field):
			if o.word == equal {
				o = outcome{after, *lost}
			}
		default:
			bad = append(bad, d)
		}
	}
	if len(bad) > 0 {
		o.word = wrong
	}
	return o, bad
}

func versionText(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// afterWrite matches the fields that tell of records and offsets.
var afterWrite = regexp.MustCompile(`\.(BaseOffset|HighWatermark|LastStableOffset|LogStartOffset|Offset|RecordBatches.*)$`)

// allow finds the entry of the list that covers a gap, or nil.
func allow(name string, step int, d gap) *allowedGap {
	for i := range allowedGaps {
		a := &allowedGaps[i]
		hit, err := path.Match(a.cases, name)
		if err != nil {
			panic(err)
		}
		if !hit || len(a.steps) > 0 && !slices.Contains(a.steps, step) || !regexp.MustCompile("^(?:"+a.field+")$").MatchString(d.Field) {
			continue
		}
		if a.kz != "" && !regexp.MustCompile(a.kz).MatchString(fmt.Sprint(d.KZ)) {
			continue
		}
		usedMu.Lock()
		a.used = true
		usedMu.Unlock()
		return a
	}
	return nil
}

var usedMu sync.Mutex

// reportUnused fails for entries of the list that nothing needed: what no longer differs must not be allowed to.
func reportUnused(t *testing.T, concerns func(allowedGap) bool) {
	t.Helper()
	for _, a := range allowedGaps {
		if !a.used && concerns(a) {
			t.Errorf("no answer differs as this entry allows: cases %s, field %s, kz %q", a.cases, a.field, a.kz)
		}
	}
}
