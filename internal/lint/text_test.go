package lint

import (
	"go/ast"
	"regexp"
	"strings"
	"testing"
)

// machinePaths are directories of somebody's machine, and the names of hosts that only
// exist there. They are spelled in pieces so that this file does not find itself.
var machinePaths = regexp.MustCompile(`(^|[^A-Za-z0-9_.~-])/(` + strings.Join([]string{"wo" + "rk", "ro" + "ot", "ho" + "me", "Us" + "ers"}, "|") + `)/[A-Za-z0-9_.]`)

// The repository builds anywhere: no file names a directory of one machine.
func TestNoMachinePaths(t *testing.T) {
	for _, name := range files(t) {
		if strings.HasSuffix(name, ".sum") || name == "LICENSE" {
			continue
		}
		for i, line := range strings.Split(read(t, name), "\n") {
			if m := machinePaths.FindString(line); m != "" {
				t.Errorf("%s:%d: a path of one machine: %s", name, i+1, strings.TrimSpace(line))
			}
		}
	}
}

// Each package begins with a tour: a package comment of at least one sentence.
func TestPackagesHaveComments(t *testing.T) {
	comment := map[string]string{}
	for _, f := range goFiles(t) {
		if f.test {
			continue
		}
		comment[f.room] += "" // the room exists
		if f.ast.Doc != nil {
			comment[f.room] += f.ast.Doc.Text()
		}
	}
	for room, text := range comment {
		if room == "." {
			if !strings.HasPrefix(text, "Command ") {
				t.Errorf("main has no comment that begins with \"Command\"")
			}
			continue
		}
		if !strings.HasPrefix(text, "Package ") && !strings.HasPrefix(text, "Command ") {
			t.Errorf("%s has no package comment", room)
		}
	}
}

// Tests wait for conditions. A test that sleeps is slow, or wrong, or both; inside a
// synctest bubble a sleep is virtual and exact, so there it is allowed.
func TestTestsDoNotSleep(t *testing.T) {
	for _, f := range goFiles(t) {
		if !f.test {
			continue
		}
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil || inBubble(f, fn) {
				continue
			}
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok && isCall(call, "time", "Sleep") {
					t.Errorf("%s: %s sleeps: wait for the condition instead", fset.Position(call.Pos()), fn.Name.Name)
				}
				return true
			})
		}
	}
}

// inBubble says whether the function runs in a bubble: its file makes bubbles, it calls
// a helper named so, or its comment says so.
func inBubble(f goFile, fn *ast.FuncDecl) bool {
	for _, imp := range f.ast.Imports {
		if importPath(imp) == "testing/synctest" {
			return true
		}
	}
	if fn.Doc != nil && strings.Contains(fn.Doc.Text(), "bubble") {
		return true
	}
	found := false
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if id, ok := call.Fun.(*ast.Ident); ok && strings.Contains(strings.ToLower(id.Name), "bubble") {
				found = true
			}
		}
		return !found
	})
	return found
}

func isCall(call *ast.CallExpr, pkg, name string) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != name {
		return false
	}
	id, ok := sel.X.(*ast.Ident)
	return ok && id.Name == pkg
}
