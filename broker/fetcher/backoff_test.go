package fetcher

import (
	"testing"
	"time"
)

func TestBackoffGrowsToItsLimit(t *testing.T) {
	const limit = time.Second
	for _, c := range []struct {
		rule     string
		refusals int
		limit    time.Duration
		want     time.Duration
	}{
		{"the leader has perhaps not heard yet: soon again", 1, limit, 10 * time.Millisecond},
		{"each refusal doubles it", 4, limit, 80 * time.Millisecond},
		{"at most replica.fetch.backoff.ms", 8, limit, limit},
		{"a leader that refuses for ever costs no more than Kafka's", 1 << 40, limit, limit},
		{"a limit below the first step", 1, time.Millisecond, time.Millisecond},
		{"a long limit is reached too", 40, time.Hour, time.Hour},
	} {
		if got := backoffAfter(c.refusals, c.limit); got != c.want {
			t.Errorf("%s: %v, want %v", c.rule, got, c.want)
		}
	}
}
