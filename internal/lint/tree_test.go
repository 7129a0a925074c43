package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// root is the repository, seen from this package.
const root = "../.."

// goFile is one parsed source file.
type goFile struct {
	name string // broker/api/00_produce.go
	room string // broker/api; "." is the root
	test bool
	ast  *ast.File
	text string
}

var fset = token.NewFileSet()

// files lists every file of the tree that belongs to the project, slash-separated.
func files(t *testing.T) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch {
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata" || ignored(t, rel)):
			return filepath.SkipDir
		case !d.IsDir() && !ignored(t, rel):
			out = append(out, rel)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 50 {
		t.Fatalf("only %d files found below %s: the rules would check nothing", len(out), root)
	}
	return out
}

var parseOnce = sync.OnceValues(func() ([]goFile, error) {
	var out []goFile
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata") {
			if err == nil {
				err = filepath.SkipDir
			}
			return err
		}
		if d.IsDir() || !strings.HasSuffix(p, ".go") {
			return nil
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(fset, p, text, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		name := filepath.ToSlash(rel)
		out = append(out, goFile{name: name, room: path.Dir(name), test: strings.HasSuffix(name, "_test.go"), ast: parsed, text: string(text)})
		return err
	})
	return out, err
})

// goFiles parses the whole tree, once.
func goFiles(t *testing.T) []goFile {
	t.Helper()
	out, err := parseOnce()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// ignored says whether .gitignore names it: what README builds and runs in the checkout is not the
// project's. The patterns there are simple ones.
func ignored(t *testing.T, rel string) bool {
	t.Helper()
	for _, pattern := range strings.Fields(read(t, ".gitignore")) {
		pattern = strings.TrimSuffix(pattern, "/")
		name := path.Base(rel)
		if below, ok := strings.CutPrefix(pattern, "/"); ok {
			pattern, name = below, rel
		}
		if match, err := path.Match(pattern, name); err != nil {
			t.Fatalf(".gitignore: %s: %v", pattern, err)
		} else if match {
			return true
		}
	}
	return false
}

// within says whether room is one of the rooms, or lies below one that ends in "/...".
func within(room string, rooms []string) bool {
	for _, r := range rooms {
		below, all := strings.CutSuffix(r, "/...")
		if room == r || all && (room == below || strings.HasPrefix(room, below+"/")) {
			return true
		}
	}
	return false
}
