package cli

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"kz/internal/nearest"
)

// An option is one flag of a classic tool.
type option struct {
	name     string
	arg      string // placeholder of its argument; "" = takes none
	optional bool   // the argument may be left out
	def      string // used when the flag is absent, or present without its optional argument
	help     string
}

// options reads flags as joptsimple does, which is not how Go's flag package does:
//
//	--name value and --name=value         a single dash only for one letter (-o json)
//	a flag that needs an argument takes the next word, whatever it looks like
//	no abbreviations; words that belong to no flag are ignored; -- ends the flags
//	a repeated flag collects its values; a flag meant to be single then complains when read
//
// Mirrors kafka.utils.CommandDefaultOptions and CommandLineUtils.
type options struct {
	tool  string
	specs []option
	seen  map[string][]string // every value given, in order; an empty slice means present without argument
}

// parseOptions reads args. Its errors are usage errors without the usage text, as Kafka's are.
func parseOptions(tool string, specs []option, args []string) (*options, error) {
	o := &options{tool: tool, specs: append(specs, commonOptions...), seen: map[string][]string{}}
	for i := 0; i < len(args); i++ {
		word := args[i]
		if word == "--" {
			break
		}
		name, value, hasValue, isFlag := splitFlag(word)
		if !isFlag {
			continue
		}
		spec, ok := o.spec(name)
		if !ok {
			return nil, exitf(exitFailed, "%s is not a recognized option%s", name, o.didYouMean(name))
		}
		if o.seen[name] == nil {
			o.seen[name] = []string{}
		}
		switch {
		case spec.arg == "" && hasValue:
			return nil, exitf(exitFailed, "Option %s does not accept an argument", name)
		case spec.arg == "":
			continue
		case !hasValue && spec.optional && (i+1 == len(args) || strings.HasPrefix(args[i+1], "-")):
			continue
		case !hasValue && i+1 == len(args):
			return nil, exitf(exitFailed, "Option %s requires an argument", name)
		case !hasValue:
			i++
			value = args[i]
		}
		o.seen[name] = append(o.seen[name], value)
	}
	return o, nil
}

// commonOptions are understood by every classic tool; the last one is kz's own.
var commonOptions = []option{
	{name: "help", help: "print this text"},
	{name: "version", help: "print the version of Kafka that is followed"},
	{name: "o", arg: "text|json", def: "text", help: "output format (kz only)"},
}

func splitFlag(word string) (name, value string, hasValue, isFlag bool) {
	name, isFlag = strings.CutPrefix(word, "--")
	if !isFlag {
		if name, isFlag = strings.CutPrefix(word, "-"); !isFlag || name == "" {
			return "", "", false, false
		}
		if _, err := strconv.ParseFloat(word, 64); err == nil {
			return "", "", false, false // a negative number is no flag
		}
	}
	name, value, hasValue = strings.Cut(name, "=")
	return name, value, hasValue, true
}

func (o *options) spec(name string) (option, bool) {
	i := slices.IndexFunc(o.specs, func(s option) bool { return s.name == name })
	if i < 0 {
		return option{}, false
	}
	return o.specs[i], true
}

func (o *options) didYouMean(name string) string {
	if name == "h" {
		return " (did you mean --help?)"
	}
	var names []string
	for _, s := range o.specs {
		names = append(names, s.name)
	}
	if near := nearest.To(name, longNames(names)); near != "" {
		return fmt.Sprintf(" (did you mean --%s?)", near)
	}
	return ""
}

// has says whether the flag was given.
func (o *options) has(name string) bool { _, ok := o.seen[name]; return ok }

// all gives every value of a flag that may repeat.
func (o *options) all(name string) []string { return o.seen[name] }

// str gives the one value of a flag, or its default.
func (o *options) str(name string) (string, error) {
	switch v := o.seen[name]; len(v) {
	case 0:
		spec, _ := o.spec(name)
		return spec.def, nil
	case 1:
		return v[0], nil
	default:
		return "", fmt.Errorf("Found multiple arguments for option %s, but you asked for only one", name)
	}
}

// number gives the one value of a flag as a whole number of the given size in bits.
func (o *options) number(name string, bits int) (int64, error) {
	s, err := o.str(name)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(s, 10, bits)
	if err != nil {
		return 0, fmt.Errorf("Cannot parse argument '%s' of option %s", s, name)
	}
	return n, nil
}

// json says whether -o json was asked for.
func (o *options) json() (bool, error) {
	s, err := o.str("o")
	if err == nil && s != "text" && s != "json" {
		err = exitf(exitFailed, "-o %s: the formats are text and json", s)
	}
	return s == "json", err
}

// helpOrVersion ends the tool for no arguments at all, --help and --version.
func (o *options) helpOrVersion(e *env, args []string, about string) error {
	if len(args) == 0 || o.has("help") {
		return o.die(e, about)
	}
	if o.has("version") {
		fmt.Fprintf(e.stdout, "%s (kz %s)\n", KafkaVersion, revision())
		return &exitError{code: exitOK}
	}
	return nil
}

// die prints a message and the usage on stderr and ends with 1, as Kafka's tools do.
func (o *options) die(e *env, message string) error {
	fmt.Fprintln(e.stderr, message)
	o.usage(e.stderr)
	return &exitError{code: exitFailed}
}

// dieAlone ends a tool that has no broker to ask. What to type comes last, below the
// usage, where a reader of the terminal looks.
func (o *options) dieAlone(e *env, message, flag string) error {
	err := o.die(e, message)
	fmt.Fprintln(e.stderr, startOne("--"+flag+" host:port"))
	return err
}

// require ends the tool when one of the flags is missing.
func (o *options) require(e *env, names ...string) error {
	for _, n := range names {
		if o.has(n) {
			continue
		}
		text := fmt.Sprintf("Missing required argument %q", "["+n+"]")
		if n == "bootstrap-server" || n == "broker-list" {
			return o.dieAlone(e, text, n)
		}
		return o.die(e, text)
	}
	return nil
}

// exclude ends the tool when used was given together with one of the others.
func (o *options) exclude(e *env, used string, others ...string) error {
	if !o.has(used) {
		return nil
	}
	for _, n := range others {
		if o.has(n) {
			return o.die(e, fmt.Sprintf("Option %q can't be used with option %q", "["+used+"]", "["+n+"]"))
		}
	}
	return nil
}

func (o *options) usage(w io.Writer) {
	specs := slices.Clone(o.specs)
	slices.SortFunc(specs, func(a, b option) int { return strings.Compare(a.name, b.name) })
	fmt.Fprintf(w, "Usage: kz %s [options]\n", o.tool)
	for _, s := range specs {
		flag := "--" + s.name
		if len(s.name) == 1 {
			flag = "-" + s.name
		}
		switch {
		case s.arg != "" && s.optional:
			flag += " [" + s.arg + "]"
		case s.arg != "":
			flag += " <" + s.arg + ">"
		}
		def := ""
		if s.def != "" {
			def = " (default: " + s.def + ")"
		}
		fmt.Fprintf(w, "  %-38s %s%s\n", flag, s.help, def)
	}
}
