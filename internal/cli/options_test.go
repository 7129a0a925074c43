package cli

import (
	"slices"
	"strings"
	"testing"

	"kz/internal/nearest"
)

var testOptions = []option{
	{name: "flag"}, {name: "topic", arg: "name"}, {name: "config", arg: "k=v"},
	{name: "partitions", arg: "n", def: "7"}, {name: "timeout", arg: "ms", optional: true, def: "10"},
}

// Ref: joptsimple 5, as kafka-topics behaves in testdata/kafka-topics.txt.
func TestOptionsAreReadAsJoptsimpleDoes(t *testing.T) {
	for _, tt := range []struct {
		name string
		args string
		flag string   // whose values are looked at
		want []string // nil: absent
		err  string
	}{
		{"a value after a blank", "--topic a", "topic", []string{"a"}, ""},
		{"a value after =", "--topic=a=b", "topic", []string{"a=b"}, ""},
		{"the next word is the value, whatever it looks like", "--topic --flag", "topic", []string{"--flag"}, ""},
		{"a flag may repeat", "--config a=1 --config b=2", "config", []string{"a=1", "b=2"}, ""},
		{"present without argument", "--flag", "flag", []string{}, ""},
		{"an optional argument left out", "--timeout --flag", "timeout", []string{}, ""},
		{"an optional argument given", "--timeout 3", "timeout", []string{"3"}, ""},
		{"words that belong to no flag are ignored", "x --topic a y", "topic", []string{"a"}, ""},
		{"a negative number is a value", "--partitions -1", "partitions", []string{"-1"}, ""},
		{"-- ends the flags", "-- --topic a", "topic", nil, ""},
		{"no abbreviations", "--top a", "", nil, "top is not a recognized option"},
		{"an unknown flag names the nearest", "--topci a", "", nil, "did you mean --topic?"},
		{"a flag that takes none", "--flag=1", "", nil, "does not accept an argument"},
		{"a value is missing", "--topic", "", nil, "Option topic requires an argument"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o, err := parseOptions("test", testOptions, strings.Fields(tt.args))
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got, present := o.seen[tt.flag]; present != (tt.want != nil) || !slices.Equal(got, tt.want) {
				t.Errorf("%s: %q (present %v), want %q", tt.flag, got, present, tt.want)
			}
		})
	}
}

func TestOptionValues(t *testing.T) {
	o, err := parseOptions("test", testOptions, []string{"--topic", "a", "--topic", "b", "--config", "x"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.str("topic"); err == nil || err.Error() != "Found multiple arguments for option topic, but you asked for only one" {
		t.Errorf("a repeated single flag: %v", err)
	}
	if n, err := o.number("partitions", 32); n != 7 || err != nil {
		t.Errorf("the default: %d, %v", n, err)
	}
	if _, err := o.number("config", 32); err == nil || err.Error() != "Cannot parse argument 'x' of option config" {
		t.Errorf("no number: %v", err)
	}
}

func TestNearest(t *testing.T) {
	names := []string{"topics", "broker", "dump-log", "zk"}
	for word, want := range map[string]string{"topcs": "topics", "brokers": "broker", "dumplog": "dump-log", "kz": "zk", "zj": "zk", "completely-else": "", "": ""} {
		if got := nearest.To(word, names); got != want {
			t.Errorf("nearest.To(%q) = %q, want %q", word, got, want)
		}
	}
}

// kz's own commands exit with 2 for a usage error and say what was probably meant.
func TestCommandsThatDoNotExist(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		exit int
		want string
	}{
		{"a mistyped command", []string{"topcs"}, exitUsage, `Did you mean "topics"?`},
		{"a command like no other", []string{"xyzzy"}, exitUsage, "Run 'kz help'"},
		{"a mistyped flag", []string{"broker", "--confg", "x"}, exitUsage, "Did you mean --config?"},
		{"a mistyped flag of a subcommand", []string{"zk", "ls", "--zookeper", "x", "/"}, exitUsage, "kz zk ls: there is no flag --zookeper. Did you mean --zookeeper?"},
		{"a flag kz does not have", []string{"-x"}, exitUsage, "kz: there is no flag -x. Run 'kz --help'"},
		{"a flag without its value", []string{"broker", "--config"}, exitUsage, "kz broker: --config needs a value."},
		{"help for a mistyped command", []string{"help", "topcs"}, exitUsage, `Did you mean "topics"?`},
		{"-h of a classic tool, which has only --help", []string{"topics", "-h"}, exitFailed, "did you mean --help?"},
		{"no config", []string{"broker"}, exitUsage, "scripts/server.properties"},
		{"a config that is not there", []string{"broker", "--config", "no-such-file"}, exitFailed, "no-such-file"},
		{"an override without a value", []string{"broker", "--override", "x"}, exitUsage, "must be key=value"},
		{"a log level that is none", []string{"broker", "--override", "a=b", "--log-level", "loud"}, exitUsage, "must be trace, debug"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stdout, stderr, exit := kz(t, tt.args...)
			if exit != tt.exit || !strings.Contains(stderr, tt.want) || stdout != "" {
				t.Errorf("exit %d, stdout %q, stderr %q; want exit %d and %q", exit, stdout, stderr, tt.exit, tt.want)
			}
		})
	}
}

// All faults of a config at once, with the file's name.
func TestBrokerNamesEveryFault(t *testing.T) {
	_, stderr, exit := kz(t, "broker", "--override", "broker.id=x", "--override", "num.partitions=0", "--override", "log.dirs=/a,/b")
	if exit != exitFailed || !strings.Contains(stderr, "broker.id") || !strings.Contains(stderr, "num.partitions") {
		t.Errorf("exit %d: %s", exit, stderr)
	}
}

func TestVersion(t *testing.T) {
	for _, arg := range []string{"version", "--version", "-v"} {
		if out, _, exit := kz(t, arg); exit != 0 || !strings.Contains(out, "Kafka 2.8.2") {
			t.Errorf("%s: exit %d: %q", arg, exit, out)
		}
	}
}

// An argument that a command does not take is refused, not ignored.
func TestArgumentsNobodyTakes(t *testing.T) {
	for _, command := range []string{"broker", "up", "status", "env", "down", "version", "events", "faults", "zk sessions", "bench offsets", "demo kill-a-broker"} {
		_, stderr, code := kz(t, append(strings.Fields(command), "surplus=1")...)
		if want := "kz " + command + ": surplus=1: takes no arguments but its flags."; code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit %d, %s", command, code, stderr)
		}
	}
}
