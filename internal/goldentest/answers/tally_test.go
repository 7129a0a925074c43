package answers

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"kz/internal/fidelity"
)

// The words of the package comment, and two more: wrong fails the test; unreached answers
// would have followed a step that their case cannot go on without.
const (
	equal     = "equal"
	allowed   = "allowed"
	refused   = "refused"
	after     = "after"
	unreached = "unreached"
	wrong     = "wrong"
)

// An outcome is the word for one answer, and its reason: for allowed a piece of
// docs/divergence.md, for what was refused the missing system.
type outcome struct{ word, why string }

// verdict is the word in the account of all comparisons.
func (o outcome) verdict() fidelity.Verdict {
	switch o.word {
	case equal:
		return fidelity.Same
	case allowed:
		if o.why != notServedYet { // it only follows from what was refused before
			return fidelity.Differs
		}
	}
	return fidelity.Refused
}

// tally counts answers by word, and enters each in the account.
type tally struct {
	sheet *fidelity.Sheet
	name  string // of the cluster

	mu    sync.Mutex // guards the rest
	cases int
	count map[string]int
}

func newTally(sheet *fidelity.Sheet, name string) *tally {
	return &tally{sheet: sheet, name: name, count: map[string]int{}}
}

// add counts one case: an outcome for each of the answers in want that were compared. What comes
// after those was not reached, for the reason of the last that was refused, or for stopped.
func (c *tally) add(want []exchange, got []outcome, stopped string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cases++
	for i, x := range want {
		o := outcome{unreached, stopped}
		if i < len(got) {
			o = got[i]
		} else if !x.served() {
			o = outcome{refused, unserved(x.API)}
		}
		c.count[o.word]++
		what, where := strings.TrimSuffix(fmt.Sprintf("%s v%s", x.API, versionText(x.Version)), " v"), x.Case
		if o.verdict() != fidelity.Differs {
			where = "" // only differences are told case by case
		}
		c.sheet.Add(what, where, o.verdict(), o.why)
	}
}

// report logs the totals.
func (c *tally) report(t *testing.T) {
	t.Helper()
	t.Logf("%s: %d cases; answers: %v", c.name, c.cases, c.count)
}

var (
	needsAPI   = regexp.MustCompile(`^(?:it needs )?(\w+)(?: v\d+, which)? is not served$`)
	needsOther = map[string]string{"creating a topic with message.format.version": formats01}
)

// What an answer needs that kz does not have, where that is no API.
const (
	producerState = "records of idempotent and transactional producers"
	formats01     = "`message.format.version` below 0.11.0 on a topic"
)

// unserved names what is missing for an API, or for a version of one.
func unserved(api string) string {
	if r, ok := rangeOf(api); ok {
		return fmt.Sprintf("%s below v%d", api, r.Min)
	}
	return api
}

// missingSystem is what a case needs that stopped.
func missingSystem(why string) string {
	if m := needsAPI.FindStringSubmatch(why); m != nil {
		return unserved(m[1])
	}
	for begin, system := range needsOther {
		if strings.HasPrefix(why, begin) {
			return system
		}
	}
	return why
}
