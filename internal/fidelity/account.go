package fidelity

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// An Area is one chapter of the account: all rows below measured/<Name>.
type Area struct {
	Name string
	Rows []Row // of all parts, equal ones added up, sorted
}

// areas are the chapters in their order, with what one comparison is.
var areas = []struct{ name, title, unit string }{
	{"answers", "Answers", "answers to recorded requests"},
	{"znodes", "ZooKeeper", "recorded steps, and operations on znodes in them"},
	{"requests", "Requests of the controller", "phases of a recorded conversation, in memory and over TCP"},
	{"files", "Files", "files, and decisions about damaged ones"},
	{"tools", "Tools", "recorded commands"},
}

// Load reads the committed rows, by area.
func Load() (map[string]Area, error) {
	dir, err := root()
	if err != nil {
		return nil, err
	}
	out := map[string]Area{}
	for _, a := range areas {
		parts, err := filepath.Glob(filepath.Join(dir, "internal", "fidelity", "measured", a.name, "*.jsonl"))
		if err != nil || len(parts) == 0 {
			return nil, fmt.Errorf("nothing is measured of %s: %v", a.name, err)
		}
		sum := map[Row]int{}
		for _, p := range parts {
			rows, err := read(p)
			if err != nil {
				return nil, err
			}
			for _, r := range rows {
				n := r.Count
				r.Count = 0
				sum[r] += n
			}
		}
		area := Area{Name: a.name}
		for r, n := range sum {
			r.Count = n
			area.Rows = append(area.Rows, r)
		}
		slices.SortFunc(area.Rows, compareRows)
		out[a.name] = area
	}
	return out, nil
}

// A Tally is how many comparisons ended with which verdict.
type Tally map[Verdict]int

// Share is how much is the same of what exists, in percent.
func (t Tally) Share() float64 {
	there := t[Same] + t[Differs] + t[Uncompared]
	if there == 0 {
		return 0
	}
	return 100 * float64(t[Same]) / float64(there)
}

func tally(rows []Row) Tally {
	t := Tally{}
	for _, r := range rows {
		t[r.Verdict] += r.Count
	}
	return t
}

// Total adds up everything.
func Total(all map[string]Area) Tally {
	t := Tally{}
	for _, a := range all {
		for v, n := range tally(a.Rows) {
			t[v] += n
		}
	}
	return t
}

// steps are the rows of whole steps among those of ZooKeeper; the others are operations.
func (a Area) steps() (steps, others []Row) {
	for _, r := range a.Rows {
		if r.What == "step" {
			steps = append(steps, r)
		} else {
			others = append(others, r)
		}
	}
	slices.SortFunc(steps, func(x, y Row) int { return compareNumbered(x.Where, y.Where) })
	return steps, others
}

var firstNumber = regexp.MustCompile(`\d+`)

// compareNumbered sorts "9-x" before "29b-y" before "100-z".
func compareNumbered(a, b string) int {
	n, _ := strconv.Atoi(firstNumber.FindString(a))
	m, _ := strconv.Atoi(firstNumber.FindString(b))
	if n != m {
		return n - m
	}
	return strings.Compare(a, b)
}

// groups puts rows together that have the same key, in the order in which the keys come.
func groups(rows []Row, key func(Row) string) (keys []string, by map[string][]Row) {
	by = map[string][]Row{}
	for _, r := range rows {
		k := key(r)
		if by[k] == nil {
			keys = append(keys, k)
		}
		by[k] = append(by[k], r)
	}
	return keys, by
}
