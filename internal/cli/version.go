package cli

import (
	"fmt"
	"runtime/debug"

	ucli "github.com/urfave/cli/v2"
)

// KafkaVersion is the version whose behaviour kz rebuilds; the classic tools print it for --version.
const KafkaVersion = "2.8.2"

func versionCommand(e *env) *ucli.Command {
	return &ucli.Command{
		Name:   "version",
		Usage:  "print which kz this is and which Kafka it follows",
		Action: flagsOnly(func(*ucli.Context) error { return printVersion(e) }),
	}
}

func printVersion(e *env) error {
	fmt.Fprintf(e.stdout, "kz %s (Apache Kafka %s behaviour, inter.broker.protocol.version 2.6)\n", revision(), KafkaVersion)
	return nil
}

// revision is the commit kz was built from, as far as the build knows it.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	rev, dirty := info.Main.Version, ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) >= 12:
			rev = s.Value[:12]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+changes"
		}
	}
	if rev == "" {
		rev = "unknown"
	}
	return rev + dirty
}
