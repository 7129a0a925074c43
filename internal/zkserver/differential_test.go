package zkserver

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"kz/internal/zktest"
)

// The same random operations in three sessions on the embedded server and on the real
// one: every answer, error, stat, zxid and event must be the same, and so must the trees
// at the end. KZ_OPS says how many operations; KZ_SEED where they begin.
func TestRandomOperationsDoNotTellThemApart(t *testing.T) {
	// The real one looks for empty containers every minute, which would take zxids.
	t.Setenv("JAVA_TOOL_OPTIONS", "-Dznode.container.checkIntervalMs=86400000")
	real := zktest.Start(t)
	embedded := start(t, conformanceConfig())
	ops := 2000
	if s := os.Getenv("KZ_OPS"); s != "" && !testing.Short() {
		var err error
		if ops, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	_, seed := seededWith(t, 1)
	const perRound = 400
	for done := 0; done < ops && !t.Failed(); done += perRound {
		duel(t, real.Addr, embedded.Addr(), seed+uint64(done/perRound), perRound)
	}
}

// duel plays one round with a seed of its own.
func duel(t *testing.T, real, embedded string, seed uint64, ops int) {
	rnd := randWith(seed)
	root := "/fuzz-" + strconv.FormatUint(seed, 10)
	r := chaos{rnd, root}
	sides := []*narrator{narrate(t, real, 3), narrate(t, embedded, 3)}
	defer sides[0].end()
	defer sides[1].end()
	each := func(act func(n *narrator)) bool {
		var said [2]string
		for i, n := range sides {
			n.story.Reset()
			act(n)
			said[i] = n.story.String()
		}
		if said[0] != said[1] {
			t.Errorf("seed %d\nZooKeeper: %s\n embedded: %s", seed, said[0], said[1])
		}
		return said[0] == said[1]
	}
	each(func(n *narrator) { n.do(0, create(root, "")) })
	for range ops {
		who := rnd.IntN(3)
		var act func(n *narrator)
		switch p := rnd.IntN(100); {
		case p < 60:
			o := r.write()
			act = func(n *narrator) { n.do(who, o) }
		case p < 98:
			o := r.read()
			act = func(n *narrator) { n.do(who, n.since(o)) }
		case p < 99:
			act = func(n *narrator) { n.reconnect(who) }
		default:
			act = func(n *narrator) { n.do(who, bareOp{opCloseSession}) }
		}
		if !each(act) {
			return
		}
	}
	each(func(n *narrator) { n.dump(root) })
}

// since turns "so many before the last zxid" into a zxid of this server.
func (n *narrator) since(o operation) operation {
	w, is := o.(setWatchesOp)
	if !is {
		return o
	}
	last := n.sessions[0].call(exists("/")).zxid
	w.since = max(last-w.since, n.base)
	return w
}

// dump tells the whole tree below a path, as somebody sees it who may read everything.
func (n *narrator) dump(path string) {
	c := n.sessions[0]
	c.must(authOp{"digest", []byte("u0:p")})
	n.do(0, exists(path))
	n.do(0, get(path))
	p := c.call(readOp{op: opGetChildren, path: path})
	if p.err != ok {
		return
	}
	for _, name := range sorted((&decoder{b: p.body}).strings()) {
		n.dump(strings.TrimSuffix(path, "/") + "/" + name)
	}
}
