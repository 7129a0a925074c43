package znodes

import (
	"os"
	"path/filepath"
	"testing"
)

// One of a broker's two log directories fails: the controller moves the leaders away; the directory
// comes back with a restart.
func TestLogDirs(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.mustStart("broker-1")
	a, b := filepath.Join(c.procs.Dir, "b2-a"), filepath.Join(c.procs.Dir, "b2-b")
	two := c.broker("broker-2", "log.dirs", a+","+b)
	c.step("70-two-log-dirs", func() {
		c.mustStart("broker-2")
		c.create("l", [][]int32{{2, 1}, {2, 1}, {2, 1}, {2, 1}})
	})
	for p := range int32(4) {
		c.produce("broker-2", "l", p, 1)
	}
	c.step("71-log-dir-failure", func() {
		must(c.t, os.Rename(b, b+".away"))
		must(c.t, os.WriteFile(b, nil, 0o644))
		c.leader("l", 1, 1)
		c.leader("l", 3, 1)
	})
	c.step("72-log-dir-restored", func() {
		two.Stop()
		must(c.t, os.Remove(b))
		must(c.t, os.Rename(b+".away", b))
		c.mustStart("broker-2")
		for p := range int32(4) {
			c.isr("l", p, 2)
		}
	})
}
