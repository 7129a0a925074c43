package cli

import (
	"fmt"
	"slices"
	"strings"

	"kz/internal/nearest"
)

// argument is one flag of a tool that Kafka reads with argparse4j instead of joptsimple.
type argument struct {
	name     string // with its dashes
	arg      string // placeholder; "" = takes none
	many     bool   // takes every word up to the next flag
	required bool
	help     string
}

// arguments are the values given, by flag.
type arguments struct {
	tool  string
	specs []argument
	seen  map[string][]string
}

// parseArguments reads args as argparse4j does: --flag value or --flag=value, the last
// one wins, words that belong to no flag are an error.
func parseArguments(tool string, specs []argument, args []string) (*arguments, error) {
	a := &arguments{tool: tool, specs: specs, seen: map[string][]string{}}
	for i := 0; i < len(args); i++ {
		name, value, hasValue := strings.Cut(args[i], "=")
		j := slices.IndexFunc(specs, func(s argument) bool { return s.name == name })
		if j < 0 {
			return a, a.error("unrecognized arguments: '%s'%s", args[i], a.didYouMean(name))
		}
		s := specs[j]
		switch {
		case s.arg == "":
			a.seen[name] = []string{}
		case hasValue:
			a.seen[name] = []string{value}
		case s.many:
			a.seen[name] = nil
			for i+1 < len(args) && !a.isFlag(args[i+1]) {
				i++
				a.seen[name] = append(a.seen[name], args[i])
			}
			if len(a.seen[name]) == 0 {
				return a, a.error("argument %s: expected at least one argument", name)
			}
		case i+1 == len(args) || a.isFlag(args[i+1]):
			return a, a.error("argument %s: expected one argument", name)
		default:
			i++
			a.seen[name] = []string{args[i]}
		}
	}
	return a, nil
}

func (a *arguments) isFlag(word string) bool {
	name, _, _ := strings.Cut(word, "=")
	return strings.HasPrefix(word, "--") || slices.ContainsFunc(a.specs, func(s argument) bool { return s.name == name })
}

func (a *arguments) didYouMean(name string) string {
	var names []string
	for _, s := range a.specs {
		names = append(names, s.name)
	}
	if near := nearest.To(name, names); near != "" {
		return fmt.Sprintf(" (did you mean %s?)", near)
	}
	return ""
}

// error is a usage error: the usage, then the message, exit code 1.
func (a *arguments) error(format string, args ...any) error {
	return exitf(exitFailed, "%s\n%s: error: %s", a.usage(), a.tool, fmt.Sprintf(format, args...))
}

// required fails for the first required flag that is missing.
func (a *arguments) required() error {
	for _, s := range a.specs {
		if s.required && !a.has(s.name) {
			return a.error("argument %s is required", s.name)
		}
	}
	return nil
}

func (a *arguments) has(name string) bool { _, ok := a.seen[name]; return ok }

// str is the value of a flag, or def.
func (a *arguments) str(name, def string) string {
	if v := a.seen[name]; len(v) > 0 {
		return v[0]
	}
	return def
}

func (a *arguments) usage() string {
	var b strings.Builder
	fmt.Fprintf(&b, "usage: %s [options]", a.tool)
	for _, s := range a.specs {
		flag := s.name
		if s.arg != "" {
			flag += " " + s.arg
		}
		if s.many {
			flag += " ..."
		}
		if s.required {
			flag += " (required)"
		}
		fmt.Fprintf(&b, "\n  %-44s %s", flag, s.help)
	}
	return b.String()
}
