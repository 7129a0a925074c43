package nearest_test

import (
	"testing"

	"kz/internal/nearest"
)

func TestTo(t *testing.T) {
	known := []string{"port", "broker", "topics", "zookeeper", "log.retention.hours"}
	for _, c := range []struct{ rule, word, want string }{
		{"two letters swapped", "topisc", "topics"},
		{"two letters swapped in a short word", "prot", "port"},
		{"a short word with two slips is anything", "pxrx", ""},
		{"one letter too few", "brokr", "broker"},
		{"a long name with a few slips", "log.retntion.hour", "log.retention.hours"},
		{"the word itself", "broker", "broker"},
		{"too far from all", "partition", ""},
		{"nothing", "", ""},
	} {
		if got := nearest.To(c.word, known); got != c.want {
			t.Errorf("%s: To(%q) = %q, want %q", c.rule, c.word, got, c.want)
		}
	}
}
