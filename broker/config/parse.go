package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"kz/internal/nearest"
)

// Problem is one fault of a config: key, what is wrong, the allowed range.
type Problem struct{ Key, Text string }

// Faults lists all problems at once; it is the error of Parse.
type Faults []Problem

func (f Faults) Error() string {
	var b strings.Builder
	if len(f) == 1 {
		b.WriteString("1 fault in the configuration:")
	} else {
		fmt.Fprintf(&b, "%d faults in the configuration:", len(f))
	}
	for _, p := range f {
		fmt.Fprintf(&b, "\n  %s: %s", legible(p.Key), p.Text)
	}
	return b.String()
}

// Parse builds a Config from properties (file first, then overrides). warnings: keys
// whose system kz does not have (one line naming them all), and each unknown key with
// the nearest known one. Errors: Faults, all of them.
func Parse(props map[string]string) (cfg *Config, warnings []string, err error) {
	p := &parser{values: values{}, set: props}
	p.readAll()
	cfg = p.build()
	cfg.static = maps.Clone(props)
	if len(p.faults) > 0 {
		slices.SortStableFunc(p.faults, func(a, b Problem) int { return strings.Compare(a.Key, b.Key) })
		return nil, p.warnings, p.faults
	}
	return cfg, p.warnings, nil
}

// parser gathers values, faults and warnings. A key with a fault has its default in
// values, so that the checks between keys can go on.
type parser struct {
	set      map[string]string
	values   values
	faults   Faults
	warnings []string
}

func (p *parser) fault(key, format string, args ...any) {
	p.faults = append(p.faults, Problem{key, fmt.Sprintf(format, args...)})
}

// readAll parses every known key, set or not, and sorts the others out.
func (p *parser) readAll() {
	for _, table := range []map[string]Key{Keys, ownKeys} {
		for name, k := range table {
			if def, ok := k.Default(); ok {
				p.values[name], _ = k.parse(def)
			}
		}
	}
	var later []string
	for _, name := range slices.Sorted(maps.Keys(p.set)) {
		k, known := Lookup(name)
		if !known {
			p.unknown(name)
			continue
		}
		v, err := k.parse(p.set[name])
		if err != nil {
			text := strconv.Quote(p.set[name])
			if k.Sensitive() {
				text = "the value"
			}
			p.fault(name, "%s: %s (allowed: %s)", text, err, k.Range())
			continue
		}
		switch k.Serving.kind {
		case kindRefused:
			if !k.isDefault(v) {
				p.fault(name, "refused: %s (leave it out)", k.Serving.why)
				continue
			}
		case kindNotYet:
			later = append(later, name)
		}
		p.values[name] = v
	}
	if len(later) > 0 {
		p.warnings = append(p.warnings, "without effect, kz does not have what they steer yet: "+strings.Join(later, ", "))
	}
}

// isDefault: the value is the default, or says as little.
func (k Key) isDefault(v any) bool {
	text := fmt.Sprint(v)
	if list, ok := v.([]string); ok {
		text = strings.Join(list, ",")
	}
	def, ok := k.Default()
	return text == "" || ok && strings.EqualFold(text, def)
}

// unknown warns about a key Kafka does not know, and refuses settings of security for a
// listener, which would be lost in silence.
func (p *parser) unknown(name string) {
	if rest, ok := strings.CutPrefix(name, "listener.name."); ok {
		_, key, _ := strings.Cut(rest, ".")
		if strings.Contains(key, "ssl.") || strings.Contains(key, "sasl.") || strings.HasPrefix(key, "principal.") {
			p.fault(name, "refused: kz has no SSL and SASL listeners")
			return
		}
		p.warnings = append(p.warnings, "without effect, kz has no settings for single listeners: "+legible(name))
		return
	}
	w := "unknown key " + legible(name)
	if near := nearest.To(name, append(slices.Sorted(maps.Keys(Keys)), slices.Sorted(maps.Keys(ownKeys))...)); near != "" {
		w += ", did you mean " + near + "?"
	}
	p.warnings = append(p.warnings, w)
}

// legible is a name as it is when a terminal can show it, else quoted, and cut when it is
// long: a file that is no config at all must not print its bytes.
func legible(name string) string {
	const most = 100
	if len(name) > most {
		name = name[:most] + "..."
	}
	for _, r := range name {
		if !strconv.IsPrint(r) {
			return strconv.Quote(name)
		}
	}
	return name
}

// values are the parsed values by key; a key that has neither value nor default is absent.
type values map[string]any

func (v values) int(key string) int       { n, _ := v[key].(int32); return int(n) }
func (v values) int32(key string) int32   { n, _ := v[key].(int32); return n }
func (v values) short(key string) int16   { n, _ := v[key].(int16); return n }
func (v values) long(key string) int64    { n, _ := v[key].(int64); return n }
func (v values) bool(key string) bool     { b, _ := v[key].(bool); return b }
func (v values) str(key string) string    { s, _ := v[key].(string); return s }
func (v values) list(key string) []string { l, _ := v[key].([]string); return l }
func (v values) double(key string) float64 {
	f, _ := v[key].(float64)
	return f
}
func (v values) has(key string) bool { _, ok := v[key]; return ok }
