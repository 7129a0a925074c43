package fidelity

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The committed page is what the committed rows make.
func TestDocumentIsWhatWasMeasured(t *testing.T) {
	dir, err := root()
	if err != nil {
		t.Fatal(err)
	}
	divergence, err := os.ReadFile(filepath.Join(dir, "docs", "divergence.md"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	want, err := Document(all, string(divergence))
	if err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(dir, "docs", "fidelity.md")
	if writing() {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(want, "\n"), strings.Split(string(got), "\n")); d != "" {
		t.Errorf("docs/fidelity.md is not what was measured (- measured, + committed); scripts/fidelity.sh writes it:\n%s", d)
	}
}

// All that was captured is in the account, and nearly all of what exists is the same.
func TestTheAccountIsWhole(t *testing.T) {
	all, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	if share := Total(all).Share(); share < 95 {
		t.Errorf("%.1f %% of what exists is the same; at least 95 must be", share)
	}
	steps, _ := all["znodes"].steps()
	if len(steps) != 80 {
		t.Errorf("%d of 80 steps are in the account, each once", len(steps))
	}
	if n := count(tally(all["answers"].Rows)); n != 2110 {
		t.Errorf("%d of 2110 answers are in the account", n)
	}
	for tool, want := range map[string]int{"topics": 86, "dump-log": 20 + 23, "producer-perf-test": 13, "consumer-perf-test": 10} {
		n := 0
		for _, r := range all["tools"].Rows {
			if r.What == tool {
				n += r.Count
			}
		}
		if n != want {
			t.Errorf("%d of %d commands of %s are in the account", n, want, tool)
		}
	}
}

func count(t Tally) (n int) {
	for _, m := range t {
		n += m
	}
	return n
}

// A difference needs its reason.
func TestADifferenceNeedsItsReason(t *testing.T) {
	all := map[string]Area{"tools": {Name: "tools", Rows: []Row{{What: "topics", Verdict: Differs, Why: "as we like", Count: 1}}}}
	if _, err := Document(all, "# Where\n\n## Tools\n\n| Kafka | kz | why |\n|---|---|---|\n| a | b | c |\n"); err == nil || !strings.Contains(err.Error(), "as we like") {
		t.Errorf("got %v", err)
	}
	page, err := Document(all, "# Where\n\n## Command line\n\n| Kafka | kz | why |\n|---|---|---|\n| x | as we like | c |\n")
	if err != nil || !strings.Contains(page, "[as we like](divergence.md#command-line)") {
		t.Errorf("got %v, %s", err, page)
	}
}
