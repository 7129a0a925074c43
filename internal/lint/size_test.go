package lint

import (
	"go/ast"
	"strings"
	"testing"
)

// Limits in lines. Tests get more: their stories and tables are read from top to bottom.
const (
	maxFileLines         = 400
	maxTestFileLines     = 600
	maxFunctionLines     = 60
	maxTestFunctionLines = 100
)

// longFiles and longFunctions are the exceptions, each with its reason.
var longFiles = map[string]string{}

var longFunctions = map[string]string{}

// One idea per file: over 400 lines look for the second idea. Generated code does not exist here.
func TestFilesAreShort(t *testing.T) {
	for _, f := range goFiles(t) {
		limit := maxFileLines
		if f.test {
			limit = maxTestFileLines
		}
		if n := strings.Count(f.text, "\n"); n > limit && longFiles[f.name] == "" {
			t.Errorf("%s has %d lines; at most %d", f.name, n, limit)
		}
	}
}

// A function is read in one look. Tables inside it do not count.
func TestFunctionsAreShort(t *testing.T) {
	for _, f := range goFiles(t) {
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			limit := maxFunctionLines
			if f.test {
				limit = maxTestFunctionLines
			}
			lines := fset.Position(fn.End()).Line - fset.Position(fn.Pos()).Line + 1 - tableLines(fn)
			if lines > limit && longFunctions[f.name+":"+fn.Name.Name] == "" {
				t.Errorf("%s: %s has %d lines; at most %d", f.name, fn.Name.Name, lines, limit)
			}
		}
	}
}

// tableLines counts the lines of the composite literals in a function: its tables. A
// literal that holds functions is no table.
func tableLines(fn *ast.FuncDecl) int {
	total := 0
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		if hasFunction(lit) {
			return true
		}
		total += fset.Position(lit.End()).Line - fset.Position(lit.Pos()).Line
		return false
	})
	return total
}

func hasFunction(lit *ast.CompositeLit) bool {
	found := false
	ast.Inspect(lit, func(n ast.Node) bool {
		if _, ok := n.(*ast.FuncLit); ok {
			found = true
		}
		return !found
	})
	return found
}
