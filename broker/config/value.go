package config

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// parseValue turns text into the type's Go value: bool, string, int32, int16, int64,
// float64 or []string. Errors read as Kafka's do after "Invalid value … for configuration …: ".
// Mirrors ConfigDef.parseType.
func parseValue(t Type, text string) (any, error) {
	s := strings.TrimSpace(text)
	number := func(bits int) (int64, error) {
		v, err := strconv.ParseInt(s, 10, bits)
		if err != nil {
			return 0, reason("Not a number of type " + t.String())
		}
		return v, nil
	}
	switch t {
	case Boolean:
		switch strings.ToLower(s) {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
		return nil, reason("Expected value to be either true or false")
	case Int:
		v, err := number(32)
		return int32(v), err
	case Short:
		v, err := number(16)
		return int16(v), err
	case Long:
		return asAny(number(64))
	case Double:
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return nil, reason("Not a number of type " + t.String())
		}
		return v, nil
	case List:
		return splitList(s), nil
	}
	return s, nil
}

// reason is an error in Kafka's words, which begin with a capital: they follow a colon.
type reason string

func (r reason) Error() string { return string(r) }

func asAny[T any](v T, err error) (any, error) { return v, err }

// splitList cuts at commas and drops the blanks around them; an empty text is an empty list.
func splitList(s string) []string {
	if s == "" {
		return []string{}
	}
	parts := strings.Split(s, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}

// A validator narrows a type. check's error reads as Kafka's do after the colon.
type validator interface {
	check(v any) error
	rangeText() string
}

// between: numbers from min to max. Mirrors ConfigDef.Range.
type between struct {
	min, max       float64
	minSet, maxSet bool
}

func atLeast(min int64) validator       { return between{min: float64(min), minSet: true} }
func fromTo(min, max float64) validator { return between{min, max, true, true} }
func plain(f float64) string            { return strconv.FormatFloat(f, 'f', -1, 64) }
func (b between) below(v float64) bool  { return b.minSet && v < b.min }
func (b between) above(v float64) bool  { return b.maxSet && v > b.max }

func (b between) check(v any) error {
	var f float64
	switch n := v.(type) {
	case int16:
		f = float64(n)
	case int32:
		f = float64(n)
	case int64:
		f = float64(n)
	case float64:
		f = n
	}
	switch {
	case b.below(f):
		return reason("Value must be at least " + plain(b.min))
	case b.above(f):
		return reason("Value must be no more than " + plain(b.max))
	}
	return nil
}

func (b between) rangeText() string {
	if b.maxSet {
		return "from " + plain(b.min) + " to " + plain(b.max)
	}
	return "at least " + plain(b.min)
}

// choice: one of these words, or a list of them. Mirrors ValidString and ValidList.
type choice []string

func oneOf(words ...string) validator  { return choice(words) }
func listOf(words ...string) validator { return choice(words) }

func (c choice) check(v any) error {
	words, isList := v.([]string)
	if !isList {
		words = []string{v.(string)}
	}
	for _, w := range words {
		if !slices.Contains(c, w) {
			return &wordError{w, "String must be one of: " + strings.Join(c, ", ")}
		}
	}
	return nil
}

func (c choice) rangeText() string { return "one of " + strings.Join(c, ", ") }

// wordError blames one word of a list, which then stands for the value in the message.
type wordError struct{ word, text string }

func (e *wordError) Error() string { return e.text }

// version: a version of Kafka up to 2.8. Mirrors ApiVersionValidator.
type version struct {
	only *regexp.Regexp // nil: any
	text string
}

var (
	apiVersion      validator = version{nil, "0.8.0 to 2.8"}
	protocolVersion validator = version{regexp.MustCompile(`^2\.6(-IV0|(\.\d+)*)$`), "2.6 or 2.6-IV0"}
)

// versions are the short names; intermediate ones have the number of IVs beside them.
var versions = map[string]int{"0.8.0": 1, "0.8.1": 1, "0.8.2": 1, "0.9.0": 1, "0.10.0": 2, "0.10.1": 3, "0.10.2": 1, "0.11.0": 3,
	"1.0": 1, "1.1": 1, "2.0": 2, "2.1": 3, "2.2": 2, "2.3": 2, "2.4": 2, "2.5": 1, "2.6": 1, "2.7": 3, "2.8": 2}

// isVersion says whether Kafka 2.8 knows the version: 2.6, 2.6.1, 2.6-IV0. Mirrors ApiVersion.apply.
func isVersion(s string) bool {
	short, iv, intermediate := strings.Cut(s, "-IV")
	segments := strings.Split(short, ".")
	keep := 2
	if segments[0] == "0" {
		keep = 3
	}
	name := strings.Join(segments[:min(keep, len(segments))], ".")
	count, known := versions[name]
	if !intermediate {
		return known
	}
	n, err := strconv.Atoi(iv)
	return known && name == short && err == nil && n >= 0 && n < count
}

func (v version) check(value any) error {
	s := value.(string)
	if !isVersion(s) {
		return reason("Version `" + s + "` is not a valid version")
	}
	if v.only != nil && !v.only.MatchString(s) {
		return fmt.Errorf("kz speaks only %s between brokers", v.text)
	}
	return nil
}

func (v version) rangeText() string { return v.text }

// throttledReplicas: '*', or partition:broker pairs. Mirrors ThrottledReplicaListValidator.
type throttledReplicas string

var replicaPair = regexp.MustCompile(`^[0-9]+:[0-9]+$`)

func (name throttledReplicas) check(v any) error {
	words := v.([]string)
	if len(words) == 1 && words[0] == "*" {
		return nil
	}
	for _, w := range words {
		if !replicaPair.MatchString(w) {
			return &wordError{"[" + strings.Join(words, ", ") + "]", string(name) +
				" must be the literal '*' or a list of replicas in the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],..."}
		}
	}
	return nil
}

func (name throttledReplicas) rangeText() string { return "'*' or partition:broker pairs" }

// valueError is a value that does not fit, with the value as Kafka would show it.
type valueError struct {
	shown string
	err   error
}

func (e *valueError) Error() string { return e.err.Error() }

// invalid is Kafka's ConfigException for one value.
func invalid(name string, err error) string {
	shown := ""
	if v, ok := err.(*valueError); ok {
		shown = v.shown
	}
	return fmt.Sprintf("Invalid value %s for configuration %s: %s", shown, name, err)
}

// parse reads one value of the key and checks its range. Errors are *valueError.
func (k Key) parse(text string) (any, error) {
	v, err := parseValue(k.Type, text)
	if err != nil {
		return nil, &valueError{text, err}
	}
	if k.valid == nil {
		return v, nil
	}
	if err := k.valid.check(v); err != nil {
		shown := show(v)
		if w, ok := err.(*wordError); ok {
			shown = w.word
		}
		return nil, &valueError{shown, err}
	}
	return v, nil
}
