package fidelity

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Verdict is what came of a comparison.
type Verdict string

const (
	Same       Verdict = "same"         // kz did what Kafka did
	Differs    Verdict = "differs"      // it did something else, for a reason in docs/divergence.md
	Refused    Verdict = "refused"      // the system that it takes does not exist in kz yet, and kz says so
	Uncompared Verdict = "not compared" // it exists, but nobody compares it
)

// A Row is one thing that was compared, Count times, in the same place and with the same outcome.
type Row struct {
	What    string  `json:"what"`            // an API and version, a znode, a kind of file, a tool
	Where   string  `json:"where,omitempty"` // the captured case or step
	Verdict Verdict `json:"verdict"`
	// Why is a piece of docs/divergence.md for what differs; the missing system for what is refused;
	// for what is not compared the reason; for what is the same a remark, or nothing.
	Why   string `json:"why,omitempty"`
	Count int    `json:"count"`
}

func (r Row) String() string {
	return strings.Join(strings.Fields(fmt.Sprintf("%s %s: %s %s (%d)", r.What, r.Where, r.Verdict, r.Why, r.Count)), " ")
}

func compareRows(a, b Row) int {
	return cmp.Or(strings.Compare(a.What, b.What), strings.Compare(a.Where, b.Where), strings.Compare(string(a.Verdict), string(b.Verdict)), strings.Compare(a.Why, b.Why))
}

// encode writes sorted rows, one a line.
func encode(rows []Row) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	for _, r := range rows {
		if err := e.Encode(r); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

// read reads what encode has written.
func read(path string) ([]Row, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var rows []Row
	for d := json.NewDecoder(bytes.NewReader(b)); d.More(); {
		var r Row
		if err := d.Decode(&r); err != nil {
			return nil, fmt.Errorf("%s, row %d: %w", path, len(rows)+1, err)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// root is the directory of the module, found from the directory that a test runs in.
func root() (string, error) {
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no go.mod in any directory above")
		}
	}
	return "", err
}

// measured is where the committed rows of a part are.
func measured(part string) (string, error) {
	dir, err := root()
	return filepath.Join(dir, "internal", "fidelity", "measured", part+".jsonl"), err
}

// missing is the rows of a that b does not have.
func missing(a, b []Row) (out []Row) {
	for _, r := range a {
		if !slices.Contains(b, r) {
			out = append(out, r)
		}
	}
	return out
}
