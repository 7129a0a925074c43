package config

import (
	"maps"
	"math"
	"testing"
)

// Ref: java.util.Properties.load
func TestParseProperties(t *testing.T) {
	for _, row := range []struct {
		rule, text string
		want       map[string]string
	}{
		{"= : and blanks separate", "a=1\nb:2\nc 3\nd\t=\t4\ne : 5 \n", map[string]string{"a": "1", "b": "2", "c": "3", "d": "4", "e": "5 "}},
		{"comments and empty lines", "# a=1\n  ! b=2\n\n\f\nc=3#x", map[string]string{"c": "3#x"}},
		{"a backslash joins lines", "a=1,\\\n   2,\\\n   3\nb=4", map[string]string{"a": "1,2,3", "b": "4"}},
		{"two backslashes do not", "a=1\\\\\nb=2", map[string]string{"a": `1\`, "b": "2"}},
		{"a joined line is no comment", "a=1\\\n# b", map[string]string{"a": "1# b"}},
		{"escapes", `a\ b\=c=\t\n\\\u0041\x`, map[string]string{"a b=c": "\t\n\\Ax"}},
		{"surrogate pairs", `a=\ud83d\ude00`, map[string]string{"a": "😀"}},
		{"only the first separator counts", "a==b=c", map[string]string{"a": "=b=c"}},
		{"no value", "a\nb=\nc=  ", map[string]string{"a": "", "b": "", "c": ""}},
		{"the last one counts", "a=1\na=2", map[string]string{"a": "2"}},
		{"line ends", "a=1\r\nb=2\rc=3", map[string]string{"a": "1", "b": "2", "c": "3"}},
		{"a backslash at the very end", "a=1\\", map[string]string{"a": "1"}},
	} {
		t.Run(row.rule, func(t *testing.T) {
			got, err := ParseProperties(row.text)
			if err != nil || !maps.Equal(got, row.want) {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
	if _, err := ParseProperties(`a=\u12`); err == nil {
		t.Error(`\u12 was taken`)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("zookeeper.connect=h:1\nlisteners=PLAINTEXT://:9092\nlog.retention.ms=\\u0031")
	f.Fuzz(func(t *testing.T, text string) {
		props, err := ParseProperties(text)
		if err != nil {
			return
		}
		delete(props, "zookeeper.connect")
		_, _, _ = Parse(props) // must not panic
		_ = ValidateTopicOverrides(props)
	})
}

// Ref: java.lang.Double.toString
func TestJavaDouble(t *testing.T) {
	for f, want := range map[float64]string{0.5: "0.5", 2: "2.0", 0: "0.0", 0.9: "0.9", math.MaxFloat64: "1.7976931348623157E308", 1e7: "1.0E7", 0.0001: "1.0E-4", -3: "-3.0"} {
		if got := javaDouble(f); got != want {
			t.Errorf("%v: %s, want %s", f, got, want)
		}
	}
}
