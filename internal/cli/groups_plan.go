package cli

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"kz/internal/topic"
)

// readPlan reads --from-file: topic,partition,offset where there is one --group, else
// with the group in front, as --export writes it. No file is no plan.
func (g *groupsTool) readPlan() ([]newOffset, error) {
	if !g.o.has("from-file") {
		return nil, nil
	}
	name, err := g.o.str("from-file")
	if err != nil {
		return nil, wrongUse(err.Error())
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("Unable to read file %s", name)
	}
	var out []newOffset
	text := strings.TrimPrefix(string(b), "\ufeff") // as some spreadsheets begin it
	for i, line := range strings.Split(strings.TrimRight(text, "\r\n"), "\n") {
		columns, err := csvColumns(line)
		if err != nil {
			return nil, fmt.Errorf("line %d of %s: %q: %w", i+1, name, line, err)
		}
		if groups := g.o.all("group"); len(groups) == 1 && len(columns) == 3 {
			columns = append([]string{groups[0]}, columns...)
		}
		n, err := readPlanLine(columns)
		if err != nil {
			return nil, fmt.Errorf("line %d of %s: %q: %w", i+1, name, line, err)
		}
		out = append(out, n)
	}
	return out, nil
}

// csvColumns splits a line; a column in double quotes may hold commas, and "" for a quote.
func csvColumns(line string) ([]string, error) {
	r := csv.NewReader(strings.NewReader(strings.TrimSpace(line)))
	r.FieldsPerRecord = -1
	columns, err := r.Read()
	if err != nil && err != io.EOF { // which is an empty line
		return nil, errors.New("the double quotes do not match")
	}
	return columns, nil
}

// csvColumn writes one, in quotes where Kafka writes them: also around any long one.
// Mirrors jackson-dataformat-csv's CsvEncoder.
func csvColumn(s string) string {
	if len(s) <= 24 && !strings.ContainsFunc(s, func(c rune) bool { return c <= ',' }) {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}

func readPlanLine(columns []string) (newOffset, error) {
	if len(columns) != 4 {
		return newOffset{}, errors.New("a line is group,topic,partition,offset; with one --group it may start at topic")
	}
	id, err := strconv.ParseInt(columns[2], 10, 32)
	if err != nil {
		return newOffset{}, errors.New("the partition is no number")
	}
	offset, err := strconv.ParseInt(columns[3], 10, 64)
	if err != nil {
		return newOffset{}, errors.New("the offset is no number")
	}
	return newOffset{columns[0], columns[1], int32(id), offset}, nil
}

// fromPlan is what the plan says about one group, within what there is.
func (g *groupsTool) fromPlan(ctx context.Context, group string, plan []newOffset) ([]newOffset, error) {
	mine := slices.DeleteFunc(slices.Clone(plan), func(n newOffset) bool { return n.Group != group })
	if len(mine) == 0 {
		g.complain("No reset plan for group %s found", group)
		return nil, nil
	}
	wanted := map[topic.Partition]int64{}
	for _, n := range mine {
		wanted[n.part()] = n.Offset
	}
	offsets, err := g.withinRange(ctx, wanted)
	var out []newOffset // a partition that is named twice has the last line's
	for _, tp := range slices.SortedFunc(maps.Keys(offsets), topic.Partition.Compare) {
		out = append(out, newOffset{group, tp.Topic, tp.Partition, offsets[tp]})
	}
	return out, err
}

var javaDuration = regexp.MustCompile(`(?i)^([-+]?)P(?:([-+]?\d+)D)?(T(?:([-+]?\d+)H)?(?:([-+]?\d+)M)?(?:([-+]?\d+)(?:[.,](\d{0,9}))?S)?)?$`)

// parseJavaDuration reads PnDTnHnMn.nS. Mirrors java.time.Duration.parse.
func parseJavaDuration(s string) (time.Duration, error) {
	wrong := errors.New("Text cannot be parsed to a Duration")
	m := javaDuration.FindStringSubmatch(s)
	if m == nil || strings.EqualFold(m[3], "T") || m[2] == "" && m[3] == "" {
		return 0, wrong
	}
	var d time.Duration
	for _, f := range []struct {
		digits string
		unit   time.Duration
	}{{m[2], 24 * time.Hour}, {m[4], time.Hour}, {m[5], time.Minute}, {m[6], time.Second}} {
		if f.digits == "" {
			continue
		}
		n, err := strconv.ParseInt(f.digits, 10, 64)
		part := time.Duration(n) * f.unit
		if err != nil || part/f.unit != time.Duration(n) {
			return 0, wrong
		}
		if sum := d + part; n > 0 && sum < d || n < 0 && sum > d { // too long together
			return 0, wrong
		}
		d += part
	}
	if m[7] != "" {
		n, _ := strconv.ParseInt((m[7] + "000000000")[:9], 10, 64) // nanoseconds
		if strings.HasPrefix(m[6], "-") {
			n = -n
		}
		d += time.Duration(n)
	}
	if m[1] == "-" {
		d = -d
	}
	return d, nil
}
