package lint

import (
	"go/ast"
	"strings"
	"testing"
)

// Rooms whose goroutines are not kz's: helpers of tests and measurements.
var goroutinesElsewhere = []string{"internal/clustertest", "internal/bench", "internal/zktest", "internal/fakebroker", "internal/lint"}

// Every goroutine has a row in docs/goroutines.md: who starts it, what it waits on,
// what ends it. This checks the coarse part: a room that starts goroutines (`go`, or
// Go of a WaitGroup or an errgroup) has a section of its own, with a table.
func TestRoomsWithGoroutinesHaveASection(t *testing.T) {
	sections := map[string]string{}
	for _, s := range strings.Split(read(t, "docs/goroutines.md"), "\n## ")[1:] {
		title, body, _ := strings.Cut(s, "\n")
		sections[strings.Trim(strings.TrimSpace(title), "`")] = body
	}
	reported := map[string]bool{}
	for _, f := range goFiles(t) {
		room := f.room
		if top, _, _ := strings.Cut(room, "/"); top == "client" {
			room = "client" // one section for the three clients
		}
		if f.test || within(room, goroutinesElsewhere) || reported[room] || !startsGoroutine(f.ast) {
			continue
		}
		reported[room] = true
		if !strings.Contains(sections[room], "|---") {
			t.Errorf("%s starts goroutines, but docs/goroutines.md has no section \"## %s\" with a table", f.name, room)
		}
	}
	if len(reported) == 0 {
		t.Fatal("no goroutine found in the whole tree: the check sees nothing")
	}
}

func startsGoroutine(f *ast.File) bool {
	found := false
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.CallExpr:
			if sel, ok := n.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Go" && len(n.Args) == 1 {
				found = true
			}
		}
		return !found
	})
	return found
}
