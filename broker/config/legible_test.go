package config

import (
	"strings"
	"testing"
)

// A binary file given as --config: its bytes do not reach the terminal.
func TestUnknownKeysAreLegible(t *testing.T) {
	_, warnings, err := Parse(map[string]string{
		"zookeeper.connect":         "localhost:2181",
		"\x1b[2J\x00ELF":            "1",
		strings.Repeat("long", 999): "1",
	})
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(warnings, "\n")
	if strings.ContainsAny(all, "\x1b\x00") {
		t.Errorf("control bytes in %q", all)
	}
	if !strings.Contains(all, `"\x1b[2J\x00ELF"`) {
		t.Errorf("the key is not named: %q", all)
	}
	for _, w := range warnings {
		if len(w) > 300 {
			t.Errorf("a warning of %d bytes", len(w))
		}
	}
}
