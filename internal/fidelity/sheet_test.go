package fidelity

import (
	"os"
	"path/filepath"
	"testing"
)

// recorder is a test that may fail without failing this one.
type recorder struct {
	testing.TB
	cleanup func()
	errors  int
}

func (r *recorder) Cleanup(f func())      { r.cleanup = f }
func (r *recorder) Helper()               {}
func (r *recorder) Failed() bool          { return r.errors > 0 }
func (r *recorder) Skipped() bool         { return false }
func (r *recorder) Errorf(string, ...any) { r.errors++ }
func (r *recorder) Error(...any)          { r.errors++ }
func (r *recorder) Log(...any)            {}

// A sheet that says what is committed is silent; each row too many or too few is an error.
func TestSheetIsHeldAgainstTheCommittedOne(t *testing.T) {
	t.Setenv("KZ_FIDELITY", "")
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range map[string]string{
		"go.mod":                               "module x\n",
		"internal/fidelity/measured/a/b.jsonl": `{"what":"x","verdict":"same","count":2}` + "\n" + `{"what":"y","where":"z","verdict":"differs","why":"w","count":1}` + "\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		name   string
		fill   func(*Sheet)
		errors int
	}{
		{"what is committed", func(s *Sheet) { s.Add("x", "", Same, ""); s.Add("y", "z", Differs, "w"); s.Add("x", "", Same, "") }, 0},
		{"one fewer", func(s *Sheet) { s.AddN("x", "", Same, "", 2) }, 1},
		{"another count", func(s *Sheet) { s.AddN("x", "", Same, "", 3); s.Add("y", "z", Differs, "w") }, 2},
		{"another verdict", func(s *Sheet) { s.AddN("x", "", Same, "", 2); s.Add("y", "z", Same, "w") }, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := &recorder{TB: t}
			tc.fill(Open(r, "a/b"))
			if r.cleanup(); r.errors != tc.errors && !inPart() {
				t.Errorf("%d errors, want %d", r.errors, tc.errors)
			}
		})
	}
}
