package cli

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"kz/broker/config"
	"kz/internal/kafkaerr"
)

// parseVerifiable reads the flags of a verifiable client. Without any it prints the
// usage and gives nil.
func parseVerifiable(ctx context.Context, e *env, tool string, specs []argument, args []string) (*arguments, error) {
	a, err := parseArguments(tool, specs, args)
	if len(args) == 0 || a.has("-h") || a.has("--help") {
		fmt.Fprintln(e.stdout, a.usage())
		if len(args) == 0 {
			return nil, nil
		}
		return nil, &exitError{code: exitFailed}
	}
	switch {
	case err != nil:
		return nil, err
	case a.has("--bootstrap-server") && a.has("--broker-list"):
		return nil, a.error("argument --broker-list: not allowed with argument --bootstrap-server")
	}
	if err := a.required(); err != nil {
		return nil, err
	}
	if a.fill(ctx, "--bootstrap-server", "--broker-list"); !a.has("--bootstrap-server") && !a.has("--broker-list") {
		return nil, a.error("one of the arguments --bootstrap-server --broker-list is required\n%s", startOne("--bootstrap-server host:port"))
	}
	return a, nil
}

// numbers reads the whole numbers that were given.
func (a *arguments) numbers(to map[string]*int64) error {
	for _, s := range a.specs {
		p := to[s.name]
		if p == nil || !a.has(s.name) {
			continue
		}
		n, err := strconv.ParseInt(a.str(s.name, ""), 10, 64)
		if err != nil {
			return a.error("argument %s: could not convert '%s' to Integer (For input string: %q)", s.name, a.str(s.name, ""), a.str(s.name, ""))
		}
		*p = n
	}
	return nil
}

// properties are the flags' configs, and the file's over them.
func (a *arguments) properties(file string, props map[string]string) (map[string]string, error) {
	props["bootstrap.servers"] = a.str("--bootstrap-server", a.str("--broker-list", ""))
	if !a.has(file) {
		return props, nil
	}
	more, err := config.ReadProperties(a.str(file, ""))
	if err != nil {
		return nil, a.error("%v", err)
	}
	maps.Copy(props, more)
	return props, nil
}

// javaClassOf and javaMessageAbout are the two halves of javaTextAbout.
func javaClassOf(err error) string { return javaClass(kafkaerr.CodeOf(err)) }

func javaMessageAbout(topic string, err error) string {
	return strings.TrimPrefix(javaTextAbout(topic, err), javaClassOf(err)+": ")
}
