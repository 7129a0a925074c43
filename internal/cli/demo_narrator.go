package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"kz/internal/up"
)

// A demoStep is one sentence of the story and when it was told, in milliseconds.
type demoStep struct {
	At   int64  `json:"atMs"`
	Text string `json:"text"`
}

// A narrator tells the story: sentences to stdout, what is awaited to stderr. With JSON
// the sentences are kept for the end.
type narrator struct {
	e     *env
	quiet bool
	began time.Time
	steps []demoStep
}

func newNarrator(e *env, quiet bool) *narrator {
	return &narrator{e: e, quiet: quiet, began: time.Now()}
}

func (n *narrator) say(format string, args ...any) {
	s := demoStep{At: time.Since(n.began).Milliseconds(), Text: fmt.Sprintf(format, args...)}
	n.steps = append(n.steps, s)
	if !n.quiet {
		indented := strings.ReplaceAll(s.Text, "\n", "\n         ")
		fmt.Fprintf(n.e.stdout, "%5.1f s  %s\n", float64(s.At)/1000, indented)
	}
}

// demoLook is how often a condition is looked at.
const demoLook = 20 * time.Millisecond

// await waits for a condition, at most so long, and says once for what.
func (n *narrator) await(ctx context.Context, what string, atMost time.Duration, holds func() (bool, error)) error {
	fmt.Fprintf(n.e.stderr, "         ... %s (at most %v)\n", what, atMost)
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	beat := time.NewTicker(demoLook)
	defer beat.Stop()
	for {
		ok, err := holds()
		if ok || err != nil {
			return err
		}
		select {
		case <-beat.C:
		case <-ctx.Done():
			return fmt.Errorf("waited %v for this, in vain: %s", atMost, what)
		}
	}
}

// demoCluster is a cluster for one story, on free ports.
func demoCluster(dir string, profile up.Profile) (*up.Cluster, error) {
	ports, err := up.FreePorts(4)
	if err != nil {
		return nil, err
	}
	return up.New(up.Config{Dir: dir, ZooPort: ports[0], Ports: map[int32]int{1: ports[1], 2: ports[2], 3: ports[3]}, Profile: profile})
}
