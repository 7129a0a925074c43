package clustertest_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"kz/internal/clustertest"
	"kz/internal/mutant"
)

// caughtBy says which check must notice that a rule is off. Others may notice too.
var caughtBy = map[string]string{
	"truncate-at-hw":            clustertest.CheckLost,
	"hw-is-leo":                 clustertest.CheckCommitted,
	"any-epoch":                 clustertest.CheckReplicas,
	"unconditional-state-write": clustertest.CheckEpochs,
	"leader-not-in-isr":         clustertest.CheckLost,
	"ack-before-isr":            clustertest.CheckLost,
}

// Ten seeds are one turn of every plot, and as many schedules without. One turn should do; how goroutines
// interleave is not part of a seed, so a mutant has five.
const (
	oneTurn = 10
	turns   = 5
)

// Each rule that can be switched off is missed: schedules that pass with it fail without, by the check
// that speaks of it. The same binary passes with all rules on.
func TestEveryMutantIsCaught(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a second test binary")
	}
	binary := filepath.Join(t.TempDir(), "mutants.test")
	build := exec.Command("go", "test", "-c", "-tags", "mutant", "-o", binary, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go test -c -tags mutant: %v\n%s", err, out)
	}
	if out, failed := runMutant(t, binary, "", 0); failed {
		t.Fatalf("with all rules on:\n%s", out)
	}
	for _, name := range mutant.Names {
		t.Run(name, func(t *testing.T) {
			check := caughtBy[name]
			if check == "" {
				t.Fatal("no check is named for it")
			}
			var out string
			for turn := range turns {
				out, _ = runMutant(t, binary, name, turn)
				if seeds := seedsBroken(out, check); len(seeds) > 0 {
					t.Logf("%q is broken by seeds %s", check, strings.Join(seeds, ", "))
					return
				}
			}
			t.Errorf("no seed below %d breaks %q; the last turn said:\n%.4000s", turns*oneTurn, check, out)
		})
	}
	if len(caughtBy) != len(mutant.Names) {
		t.Errorf("%d rules, checks for %d", len(mutant.Names), len(caughtBy))
	}
}

// runMutant runs one turn of schedules with one rule off.
func runMutant(t *testing.T, binary, name string, turn int) (out string, failed bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "-test.run", "^TestChaos$", "-test.timeout", "170s")
	cmd.Env = append(os.Environ(), "KZ_MUTANT="+name, fmt.Sprintf("KZ_SEEDS=%d:%d", turn*oneTurn, turn*oneTurn+oneTurn-1))
	b, err := cmd.CombinedOutput()
	return string(b), err != nil
}

var replays = regexp.MustCompile(`KZ_SEEDS=(\d+) replays this`)

// seedsBroken is the seeds whose reports name a check.
func seedsBroken(out, check string) []string {
	var seeds []string
	seed := ""
	for line := range strings.Lines(out) {
		if m := replays.FindStringSubmatch(line); m != nil {
			seed = m[1]
		}
		if strings.Contains(line, "BROKEN "+check+":") && seed != "" && !slices.Contains(seeds, seed) {
			seeds = append(seeds, seed)
		}
	}
	return seeds
}
