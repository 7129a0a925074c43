package lint

import (
	"go/ast"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// words are the packages that everything else is said in: they know nobody.
var words = []string{"internal/kafkaerr", "internal/journal", "internal/topic"}

// sees lists what each room may import of ours, tests apart. A room that is not here
// may import nothing of ours. Between the rooms of the broker and the controller there
// is no edge: only the root package broker knows both.
var sees = map[string][]string{
	".": {"internal/cli"},

	"zkpaths":           nil,
	"internal/kafkaerr": nil,
	"internal/journal":  nil,
	"internal/topic":    {"internal/kafkaerr"},
	"internal/mutant":   nil, // asked where a rule stands that a test may switch off
	"internal/link":     {"internal/journal"},
	"internal/record":   words,
	"internal/wire":     {"internal/kafkaerr", "internal/link"},
	"internal/zk":       {"internal/journal", "internal/link"},
	// The embedded ZooKeeper knows nobody, and only those who start one know it.
	"internal/zkserver": {"internal/journal", "internal/link"},

	"broker/purgatory": {"internal/journal"},
	"broker/metadata":  {"internal/topic"},
	"broker/network":   {"internal/link", "internal/wire", "internal/journal", "internal/kafkaerr"},
	"broker/commitlog": plus(words, "internal/record"),
	"broker/replica":   plus(words, "internal/mutant", "internal/record", "internal/zk", "zkpaths", "broker/commitlog", "broker/purgatory", "broker/metadata"),
	"broker/fetcher":   plus(words, "internal/mutant", "internal/record", "internal/wire", "internal/link", "broker/commitlog", "broker/metadata", "broker/replica"),
	"broker/group":     plus(words, "internal/record", "broker/purgatory", "broker/replica"),
	// config hands each room its part of server.properties, in the room's own type.
	"broker/config": plus(words, "internal/nearest", "internal/record", "internal/zk", "broker/commitlog", "broker/fetcher", "broker/group", "broker/network", "broker/replica", "controller"),
	"broker/admin":  plus(words, "internal/zk", "zkpaths", "broker/commitlog", "broker/config", "broker/metadata"),
	"broker/api": plus(words, "internal/record", "internal/wire", "internal/zk", "zkpaths",
		"broker/admin", "broker/commitlog", "broker/config", "broker/group", "broker/metadata", "broker/network", "broker/purgatory", "broker/replica"),
	"broker": plus(words, "internal/link", "internal/zk", "internal/wire", "zkpaths", "controller",
		"broker/admin", "broker/api", "broker/commitlog", "broker/config", "broker/fetcher", "broker/group", "broker/metadata", "broker/network", "broker/purgatory", "broker/replica"),

	"controller": plus(words, "internal/mutant", "internal/link", "internal/wire", "internal/zk", "zkpaths"),

	"client":            plus(words, "internal/link", "internal/wire"),
	"client/admin":      plus(words, "client", "client/assignor"),
	"client/producer":   plus(words, "client", "internal/record", "internal/wire"),
	"client/assignor":   words,
	"client/consumer":   plus(words, "client", "client/assignor", "internal/record", "internal/wire"),
	"client/zkconsumer": plus(words, "client", "client/consumer", "internal/link", "internal/zk", "zkpaths"),
	"client/witness":    plus(words, "internal/link", "internal/record", "internal/wire"),

	// The supervisor starts programs and reads their journals and znodes; what is in them it does not know.
	"internal/nearest": nil,
	"internal/up":      {"internal/journal", "internal/link", "internal/nearest", "internal/wire", "internal/zk", "zkpaths"},

	"internal/cli": plus(words, "internal/nearest", "internal/link", "internal/record", "internal/zk", "zkpaths", "internal/zkserver", "internal/up", "broker", "broker/admin", "broker/config", "broker/group",
		"client", "client/admin", "client/assignor", "client/producer", "client/consumer", "client/zkconsumer", "client/witness"),

	// What only tests and measurements use.
	"internal/zktest":      nil,
	"internal/zkrelay":     nil,
	"internal/fidelity":    nil,
	"internal/bench":       {"internal/link", "internal/zk", "zkpaths"},
	"internal/clustertest": plus(words, "internal/link", "internal/record", "internal/wire", "internal/zk", "zkpaths", "broker", "broker/config", "broker/commitlog", "internal/zktest", "internal/zkserver", "internal/mutant"),
	"internal/fakebroker":  plus(words, "internal/link", "internal/wire"),
	"internal/mixedtest":   {"client", "client/admin", "client/consumer"},
	"internal/lint":        nil,

	// Packages of tests: kz against what real Kafka was seen to do.
	"internal/goldentest/answers":  nil,
	"internal/goldentest/files":    nil,
	"internal/goldentest/requests": nil,
	"internal/goldentest/znodes":   nil,
}

func plus(rooms []string, more ...string) []string { return append(slices.Clone(rooms), more...) }

// testsAlsoSee is what any test may import beyond its room's own list.
var testsAlsoSee = []string{"internal/zktest", "internal/zkrelay", "internal/clustertest", "internal/fakebroker", "internal/link", "internal/wire", "internal/record",
	"internal/journal", "internal/kafkaerr", "internal/topic", "internal/zk", "internal/fidelity", "zkpaths"}

// doors is where each foreign module may be used: its types stop there.
var doors = map[string][]string{
	"github.com/go-zookeeper/zk":        {"internal/zk"},
	"github.com/twmb/franz-go/pkg/kmsg": {"internal/wire", "broker/api", "broker/fetcher", "controller", "client/...", "internal/fakebroker", "internal/clustertest", "internal/bench"},
	"github.com/klauspost/compress":     {"internal/record"},
	"github.com/pierrec/lz4/v4":         {"internal/record"},
	"github.com/urfave/cli/v2":          {"internal/cli"},
	"github.com/rs/zerolog":             {"broker/...", "controller", "internal/zk", "internal/zkserver", "internal/up", "internal/bench", "internal/cli", "internal/clustertest", "client/zkconsumer"},
	"golang.org/x/sync":                 {"..."},
	"golang.org/x/sys":                  {"..."},
	// Other people's clients: oracles and sources of load, never part of kz.
	"github.com/twmb/franz-go/pkg/kgo":  {"internal/clustertest", "internal/bench"},
	"github.com/twmb/franz-go/pkg/kadm": {"internal/clustertest", "internal/bench"},
	"github.com/twmb/franz-go/pkg/kerr": {"internal/clustertest", "internal/bench"},
}

// testDoors are the modules that any test may use.
var testDoors = []string{"github.com/twmb/franz-go/pkg", "github.com/IBM/sarama", "github.com/rogpeppe/go-internal", "github.com/google/go-cmp",
	"pgregory.net/rapid", "go.uber.org/goleak", "github.com/rs/zerolog"}

// The rooms of the design see only what they need: an import that is not in the table
// is a decision, to be made there and not by accident.
func TestRoomsSeeOnlyTheirNeighbours(t *testing.T) {
	for _, f := range goFiles(t) {
		allowed, known := sees[f.room]
		if !known && !f.test {
			t.Errorf("%s: the room %s has no row in the table of imports", f.name, f.room)
			continue
		}
		for _, imp := range f.ast.Imports {
			p := importPath(imp)
			room, ours := strings.CutPrefix(p, "kz/")
			if !ours || room == f.room || slices.Contains(allowed, room) {
				continue
			}
			if f.test && slices.Contains(testsAlsoSee, room) {
				continue
			}
			t.Errorf("%s: %s may not import %s", f.name, f.room, room)
		}
	}
}

func TestForeignLibrariesStopAtTheirDoors(t *testing.T) {
	for _, f := range goFiles(t) {
		for _, imp := range f.ast.Imports {
			p := importPath(imp)
			if first, _, _ := strings.Cut(p, "/"); !strings.Contains(first, ".") {
				continue // the standard library, or ours
			}
			if !throughDoor(p, f) {
				t.Errorf("%s: %s may not be used here", f.name, p)
			}
		}
	}
}

func throughDoor(p string, f goFile) bool {
	hasPrefix := func(module string) bool { return p == module || strings.HasPrefix(p, module+"/") }
	if f.test && slices.ContainsFunc(testDoors, hasPrefix) {
		return true
	}
	for module, rooms := range doors {
		if hasPrefix(module) {
			return rooms[0] == "..." || within(f.room, rooms)
		}
	}
	return false
}

// The table must name rooms that exist: a row left behind allows what nobody checks.
func TestTableOfImportsNamesRealRooms(t *testing.T) {
	rooms := map[string]bool{}
	for _, f := range goFiles(t) {
		rooms[f.room] = true
	}
	for room, allowed := range sees {
		for _, r := range append([]string{room}, allowed...) {
			if !rooms[r] {
				t.Errorf("the table of imports names %s, which does not exist", r)
			}
		}
	}
}

// One table that a reader can hold in the head: no room may see itself over others.
func TestImportsHaveNoCycle(t *testing.T) {
	const visiting, done = 1, 2
	state := map[string]int{}
	var visit func(room string, trail []string)
	visit = func(room string, trail []string) {
		switch state[room] {
		case done:
			return
		case visiting:
			t.Errorf("cycle: %s", strings.Join(append(trail, room), " -> "))
			return
		}
		state[room] = visiting
		for _, next := range sees[room] {
			visit(next, append(trail, room))
		}
		state[room] = done
	}
	for room := range sees {
		visit(room, nil)
	}
}

func importPath(imp *ast.ImportSpec) string {
	p, err := strconv.Unquote(imp.Path.Value)
	if err != nil {
		return imp.Path.Value
	}
	return p
}
