package files

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kz/internal/fidelity"
)

// notHere are files of a log directory that kz does not have.
var notHere = map[string]string{
	"cleaner-offset-checkpoint": "compaction; moves between directories",
}

// checkLogDir compares a log directory after a clean stop with Kafka's: the names of its
// files, and what the checkpoints say of the story's topics.
func checkLogDir(s *story, dir, golden string) {
	t := s.t
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, e := range entries {
		if !e.IsDir() {
			got = append(got, e.Name())
		}
	}
	for _, name := range lines(t, filepath.Join(golden, "names.txt")) {
		if why := notHere[name]; why != "" {
			s.sheet.Add("the files of a log directory", name, fidelity.Refused, why)
			continue
		}
		want = append(want, name)
		s.sheet.Add("the files of a log directory", "", fidelity.Same, "")
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s has the files %v, Kafka's %v", dir, got, want)
	}
	for _, name := range []string{"log-start-offset-checkpoint", "recovery-point-offset-checkpoint", "replication-offset-checkpoint"} {
		got, want := ofTheStory(lines(t, filepath.Join(dir, name))), ofTheStory(lines(t, filepath.Join(golden, name)))
		if !slices.Equal(got, want) {
			t.Errorf("%s of %s says %q, Kafka's %q", name, dir, got, want)
		}
		s.sheet.Add("`"+name+"` after a clean stop", "", fidelity.Same, "")
	}
}

func lines(t *testing.T, path string) []string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

// ofTheStory keeps the version and the lines of epochs and diverge; Kafka had more topics,
// and its lines have the order of a hash map.
func ofTheStory(all []string) []string {
	out := all[:1:1]
	for _, line := range all[2:] {
		if strings.HasPrefix(line, "epochs ") || strings.HasPrefix(line, "diverge ") {
			out = append(out, line)
		}
	}
	slices.Sort(out[1:])
	return out
}
