package clustertest

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// A Complaint is a line of Apache Kafka's log at WARN or above, with what follows it up to the next
// line of the log: a stack trace, as a rule.
type Complaint struct {
	Level string // WARN, ERROR, FATAL
	Text  string // the message and the logger's name in brackets: "… (kafka.server.ReplicaManager)"
	Trace string // first lines of what follows
}

// logLine is the layout that reference-kafka.sh sets: [date] LEVEL message (logger).
var logLine = regexp.MustCompile(`^\[\d{4}-\d\d-\d\d [\d:,]+\] ([A-Z]+) (.*)`)

// Complaints reads the log of a node that runs Apache Kafka.
func Complaints(t testing.TB, n *Node) []Complaint {
	t.Helper()
	b, err := os.ReadFile(n.Log)
	if err != nil {
		t.Fatal(err)
	}
	return complaints(string(b))
}

func complaints(log string) []Complaint {
	var out []Complaint
	inside := false
	for line := range strings.Lines(log) {
		line = strings.TrimRight(line, "\n")
		if m := logLine.FindStringSubmatch(line); m != nil {
			inside = m[1] == "WARN" || m[1] == "ERROR" || m[1] == "FATAL"
			if inside {
				out = append(out, Complaint{Level: m[1], Text: m[2]})
			}
			continue
		}
		if inside {
			if last := &out[len(out)-1]; strings.Count(last.Trace, "\n") < 12 {
				last.Trace += line + "\n"
			}
		}
	}
	return out
}
