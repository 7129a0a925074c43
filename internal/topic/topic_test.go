package topic_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// Ref: Kafka 2.8 org.apache.kafka.common.internals.Topic.
func TestValidateName(t *testing.T) {
	for _, c := range []struct {
		rule, name string
		ok         bool
	}{
		{"letters, digits and ._-", "Orders.v2_eu-1", true},
		{"249 characters", strings.Repeat("a", 249), true},
		{"250 characters", strings.Repeat("a", 250), false},
		{"empty", "", false},
		{"dot", ".", false},
		{"two dots", "..", false},
		{"three dots are a name", "...", true},
		{"slash", "a/b", false},
		{"space", "a b", false},
		{"not ASCII", "größe", false},
		{"a line end", "a\n", false},
	} {
		err := topic.ValidateName(c.name)
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", c.rule, err)
		}
		if err != nil && !errors.Is(err, kafkaerr.InvalidTopicException) {
			t.Errorf("%s: %v carries another code", c.rule, err)
		}
	}
}

func TestCollide(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{{"a.b", "a_b", true}, {"a.b", "a.b", false}, {"a-b", "a_b", false}, {"a.b_c", "a_b.c", true}} {
		if got := topic.Collide(c.a, c.b); got != c.want {
			t.Errorf("Collide(%s, %s) = %v", c.a, c.b, got)
		}
	}
}

// Known values of java.lang.String.hashCode.
func TestJavaHash(t *testing.T) {
	for s, want := range map[string]int32{"": 0, "test": 3556498, "my-group": -1906497762, "größe": 98762257, "😀": 1772899, "polygenelubricants": math.MinInt32} {
		if got := topic.JavaHash(s); got != want {
			t.Errorf("JavaHash(%q) = %d, want %d", s, got, want)
		}
	}
}

func TestJavaAbs(t *testing.T) {
	for n, want := range map[int32]int32{0: 0, 5: 5, -5: 5, math.MaxInt32: math.MaxInt32, -math.MaxInt32: math.MaxInt32, math.MinInt32: 0} {
		if got := topic.JavaAbs(n); got != want {
			t.Errorf("JavaAbs(%d) = %d, want %d", n, got, want)
		}
	}
}

func TestOrder(t *testing.T) {
	a, b, c := topic.Partition{Topic: "a", Partition: 2}, topic.Partition{Topic: "a", Partition: 10}, topic.Partition{Topic: "b"}
	if a.Compare(b) >= 0 || b.Compare(c) >= 0 || a.Compare(a) != 0 || c.Compare(a) <= 0 {
		t.Error("partitions are not ordered by topic, then number")
	}
	if a.String() != "a-2" {
		t.Error(a.String())
	}
}
