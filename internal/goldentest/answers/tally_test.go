package answers

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
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

// tally counts answers by API, version and word.
type tally struct {
	mu    sync.Mutex // guards the rest
	cases int
	count map[string]map[string]int // "Fetch v11" -> word -> how many
}

// add counts one case: a word for each of the answers in want that were compared.
func (c *tally) add(want []exchange, words []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cases++
	for i, x := range want {
		word := unreached
		if i < len(words) {
			word = words[i]
		} else if !x.served() {
			word = refused
		}
		c.addOne(x, word)
	}
}

func (c *tally) addOne(x exchange, word string) {
	what := strings.TrimSuffix(fmt.Sprintf("%s v%v", x.API, x.Version), " v")
	if c.count == nil {
		c.count = map[string]map[string]int{}
	}
	if c.count[what] == nil {
		c.count[what] = map[string]int{}
	}
	c.count[what][word]++
}

// report logs the totals. With KZ_FIDELITY_DIR it also writes them there, a line of JSON for
// each API and version, for docs/fidelity.md.
func (c *tally) report(t *testing.T, part string) {
	t.Helper()
	total := map[string]int{}
	var lines []byte
	for _, what := range slices.Sorted(maps.Keys(c.count)) {
		for word, n := range c.count[what] {
			total[word] += n
		}
		line, err := json.Marshal(map[string]any{"part": "answers/" + part, "what": what, "words": c.count[what]})
		if err != nil {
			t.Fatal(err)
		}
		lines = append(append(lines, line...), '\n')
	}
	t.Logf("%s: %d cases; answers: %v", part, c.cases, total)
	if dir := os.Getenv("KZ_FIDELITY_DIR"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, "answers-"+part+".jsonl"), lines, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
