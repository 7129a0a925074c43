package fidelity

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A document is docs/fidelity.md while it is written.
type document struct {
	strings.Builder
	divergence string // docs/divergence.md, where the reasons are
	faults     []string
}

// Document makes docs/fidelity.md out of the rows. divergence is the text of docs/divergence.md: a
// difference whose reason is not there is an error.
func Document(all map[string]Area, divergence string) (string, error) {
	d := &document{divergence: divergence}
	d.WriteString(introduction)
	d.totals(all)
	d.differences(all)
	for _, a := range areas {
		fmt.Fprintf(d, "\n## %s\n\n%s\n\n", a.title, chapters[a.name])
		switch a.name {
		case "answers":
			d.answers(all[a.name])
		case "znodes":
			d.znodes(all[a.name])
		case "requests":
			d.requests(all[a.name])
		default:
			d.table(all[a.name].Rows)
		}
	}
	if len(d.faults) > 0 {
		return "", fmt.Errorf("the account names what is not there: %s", strings.Join(d.faults, "; "))
	}
	return d.String(), nil
}

func (d *document) totals(all map[string]Area) {
	d.WriteString("## Totals\n\n| what is compared | same | differs | refused | not compared | same of what exists |\n|---|--:|--:|--:|--:|--:|\n")
	for _, a := range areas {
		d.total(fmt.Sprintf("[%s](#%s): %s", a.title, anchor(a.title), a.unit), tally(all[a.name].Rows))
	}
	d.total("**all**", Total(all))
}

func (d *document) total(what string, t Tally) {
	fmt.Fprintf(d, "| %s | %d | %d | %d | %d | %.1f %% |\n", what, t[Same], t[Differs], t[Refused], t[Uncompared], t.Share())
}

// differences lists each of them, and what exists but is not compared.
func (d *document) differences(all map[string]Area) {
	d.WriteString("\n## Every difference\n\n| what | where | how often | reason |\n|---|---|--:|---|\n")
	for _, a := range areas {
		for _, r := range all[a.name].Rows {
			if r.Verdict == Differs {
				fmt.Fprintf(d, "| %s | %s | %d | %s |\n", code(r.What), code(r.Where), r.Count, d.reason(r))
			}
		}
	}
	d.WriteString("\n## What exists and is not compared\n\n| what | where | how often | why |\n|---|---|--:|---|\n")
	for _, a := range areas {
		for _, r := range all[a.name].Rows {
			if r.Verdict == Uncompared {
				fmt.Fprintf(d, "| %s | %s | %d | %s |\n", code(r.What), code(r.Where), r.Count, r.Why)
			}
		}
	}
}

// answers has a line for each API, with the count of each version.
func (d *document) answers(a Area) {
	d.WriteString("| API | same | differs | refused | what is missing |\n|---|---|---|---|---|\n")
	api := func(r Row) string { name, _, _ := strings.Cut(r.What, " v"); return name }
	keys, by := groups(a.Rows, api)
	for _, name := range keys {
		cells := map[Verdict]string{}
		var needs []string
		for _, v := range []Verdict{Same, Differs, Refused} {
			cells[v] = versions(by[name], v)
		}
		for _, r := range by[name] {
			if r.Verdict == Refused {
				needs = append(needs, d.reason(r))
			}
		}
		fmt.Fprintf(d, "| %s | %s | %s | %s | %s |\n", name, cells[Same], cells[Differs], cells[Refused], list(needs))
	}
}

// versions is "v0 4, v1 1" of one verdict.
func versions(rows []Row, v Verdict) string {
	rows = slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Verdict != v })
	version := func(r Row) string { _, v, _ := strings.Cut(r.What, " v"); return v }
	keys, by := groups(rows, version)
	slices.SortFunc(keys, compareNumbered)
	var out []string
	for _, k := range keys {
		n := fmt.Sprint(tally(by[k])[v])
		if k != "" {
			n = "v" + k + " " + n
		}
		out = append(out, n)
	}
	return strings.Join(out, ", ")
}

func (d *document) znodes(a Area) {
	steps, operations := a.steps()
	d.WriteString("Step by step:\n\n| step | | remark, or what is missing |\n|---|---|---|\n")
	for _, r := range steps {
		why := r.Why
		if r.Verdict == Refused {
			why = d.reason(r)
		}
		fmt.Fprintf(d, "| %s | %s | %s |\n", r.Where, r.Verdict, why)
	}
	d.WriteString("\nZnode by znode: how many operations of Kafka's are the same in kz, and in which steps they were made.\n\n" +
		"| znode | same | differs | refused | steps with the same writes |\n|---|--:|--:|--:|---|\n")
	keys, by := groups(operations, func(r Row) string { return r.What })
	for _, k := range keys {
		t := tally(by[k])
		var where []string
		for _, r := range by[k] {
			if r.Verdict == Same {
				number, _, _ := strings.Cut(r.Where, "-")
				where = append(where, number)
			}
		}
		slices.SortFunc(where, compareNumbered)
		fmt.Fprintf(d, "| %s | %d | %d | %d | %s |\n", code(k), t[Same], t[Differs], t[Refused], strings.Join(slices.Compact(where), ", "))
	}
}

// requests has a line for each phase; one that is played in two ways is the same if both are.
func (d *document) requests(a Area) {
	d.WriteString("| phase | | how, or what is missing |\n|---|---|---|\n")
	keys, by := groups(a.Rows, func(r Row) string { return r.What })
	slices.SortFunc(keys, compareNumbered)
	for _, k := range keys {
		var how []string
		for _, r := range by[k] {
			switch {
			case r.Verdict == Refused:
				how = append(how, d.reason(r))
			default:
				how = append(how, strings.TrimSuffix(r.Where+"; "+r.Why, "; "))
			}
		}
		n, err := strconv.Atoi(strings.TrimPrefix(k, "phase "))
		if err != nil || n < 1 || n > len(phases) {
			d.faults = append(d.faults, "there is no "+k)
			continue
		}
		fmt.Fprintf(d, "| %d. %s | %s | %s |\n", n, phases[n-1], by[k][0].Verdict, strings.TrimPrefix(list(how), "; "))
	}
}

// table has a line for each thing, and says of what is refused what is missing.
func (d *document) table(rows []Row) {
	d.WriteString("| what | same | differs | refused | not compared | what is missing |\n|---|--:|--:|--:|--:|---|\n")
	keys, by := groups(rows, func(r Row) string { return r.What })
	for _, k := range keys {
		t := tally(by[k])
		var needs []string
		for _, r := range by[k] {
			if r.Verdict == Refused {
				needs = append(needs, d.reason(r))
			}
		}
		fmt.Fprintf(d, "| %s | %d | %d | %d | %d | %s |\n", k, t[Same], t[Differs], t[Refused], t[Uncompared], list(needs))
	}
}

// reason is a row's why, as a link where docs/divergence.md has the words.
func (d *document) reason(r Row) string {
	section := ""
	for line := range strings.Lines(d.divergence) {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			section = strings.TrimSpace(title)
		}
		if section != "" && strings.HasPrefix(line, "|") && strings.Contains(line, r.Why) && strings.Contains(r.Why, " ") {
			return fmt.Sprintf("[%s](divergence.md#%s)", r.Why, anchor(section))
		}
	}
	if r.Verdict == Differs {
		d.faults = append(d.faults, fmt.Sprintf("docs/divergence.md does not say %q", r.Why))
	}
	return r.Why
}

func anchor(title string) string { return strings.ReplaceAll(strings.ToLower(title), " ", "-") }

// code puts what has signs in it that Markdown would read into backticks.
func code(s string) string {
	if strings.Contains(s, "`") || !strings.ContainsAny(s, "<>_*") && !strings.HasPrefix(s, "-") {
		return s
	}
	return "`" + s + "`"
}

// list is the different ones, in order.
func list(words []string) string {
	slices.Sort(words)
	return strings.Join(slices.Compact(words), "; ")
}
