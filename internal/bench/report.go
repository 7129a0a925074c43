package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Which way is better, for the ratio's column.
type direction int

const (
	higher direction = iota
	lower
	neither // a limit of the machine
)

type line struct {
	label string
	unit  string
	dir   direction
	value map[string]float64
}

// report collects one value per line and system, in the order in which lines first came.
type report struct {
	systems []string
	lines   []*line
}

func newReport(systems []string) *report { return &report{systems: systems} }

func (r *report) put(label, system string, value float64, unit string, d direction) {
	for _, l := range r.lines {
		if l.label == label {
			l.value[system] = value
			return
		}
	}
	r.lines = append(r.lines, &line{label, unit, d, map[string]float64{system: value}})
}

// print writes the table. The last column says by how much the first system is better than the
// second: 2.00x is twice as fast, or half as much.
func (r *report) print(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprint(t, "\t")
	for _, s := range r.systems {
		fmt.Fprintf(t, "%s\t", s)
	}
	fmt.Fprint(t, "unit\tbetter by\n")
	for _, l := range r.lines {
		fmt.Fprintf(t, "%s\t", l.label)
		for _, s := range r.systems {
			if v, ok := l.value[s]; ok {
				fmt.Fprintf(t, "%.4g\t", v)
			} else {
				fmt.Fprint(t, "-\t")
			}
		}
		fmt.Fprintf(t, "%s\t%s\n", l.unit, r.ratio(l))
	}
	_ = t.Flush()
}

func (r *report) ratio(l *line) string {
	if len(r.systems) < 2 || l.dir == neither {
		return ""
	}
	a, okA := l.value[r.systems[0]]
	b, okB := l.value[r.systems[1]]
	if !okA || !okB || a == 0 || b == 0 {
		return ""
	}
	if l.dir == lower {
		a, b = b, a
	}
	return fmt.Sprintf("%.2fx", a/b)
}
