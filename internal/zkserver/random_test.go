package zkserver

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// seeded is a source of random operations whose seed is printed; KZ_SEED replays it.
func seeded(t testing.TB) (*rand.Rand, uint64) {
	t.Helper()
	return seededWith(t, uint64(time.Now().UnixNano()))
}

func seededWith(t testing.TB, seed uint64) (*rand.Rand, uint64) {
	t.Helper()
	if s := os.Getenv("KZ_SEED"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatalf("KZ_SEED=%q: %v", s, err)
		}
		seed = n
	}
	t.Logf("KZ_SEED=%d", seed)
	return randWith(seed), seed
}

func randWith(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// chaos makes random operations below a root: few names, so that they meet.
type chaos struct {
	*rand.Rand
	root string
}

func (r chaos) path() string {
	p := r.root
	for range 1 + r.IntN(3) {
		p += "/" + string(rune('a'+r.IntN(3)))
	}
	switch r.IntN(40) {
	case 0:
		return p + "/"
	case 1:
		return strings.Replace(p, "/a", "//a", 1)
	case 2:
		return p + "/.."
	case 3:
		return "x" + p
	case 4:
		return r.root
	case 5:
		return p + "/\x01"
	}
	return p
}

func (r chaos) version() int32 { return int32(max(-1, r.IntN(8)-4)) }

func (r chaos) data() []byte {
	switch r.IntN(5) {
	case 0:
		return nil
	case 1:
		return []byte{}
	}
	return fmt.Append(nil, r.IntN(1000))
}

var chaosACLs = [][]acl{
	{{permRead, "world", "anyone"}},
	{{permAll, "auth", ""}},
	{{permAll, "digest", digest("u0", []byte("u0:p"))}, {permRead, "world", "anyone"}},
	{{permAll, "ip", "127.0.0.1"}},
	nil,
	{{permAll, "world", "anyone"}, {permAll, "world", "anyone"}},
}

func (r chaos) acl() []acl {
	if i := r.IntN(2 * len(chaosACLs)); i < len(chaosACLs) {
		return chaosACLs[i]
	}
	return openACL
}

func (r chaos) create(op opCode) operation {
	return createOp{op, r.path(), r.data(), r.acl(), int32(r.IntN(4)), -1}
}

func (r chaos) container() operation {
	return createOp{opCreateContainer, r.path(), r.data(), openACL, 4, -1}
}

// inMulti is one of the operations that a multi may hold.
func (r chaos) inMulti() operation {
	switch n := r.IntN(10); {
	case n < 4:
		return r.create(opCreate)
	case n == 4:
		return r.container()
	case n < 7:
		return deleteOp{r.path(), r.version()}
	case n == 7:
		return checkOp{r.path(), r.version()}
	}
	return setDataOp{r.path(), r.data(), r.version()}
}

func (r chaos) multi() operation {
	ops := []operation{}
	for range r.IntN(6) {
		ops = append(ops, r.inMulti())
	}
	return multiOp{opMulti, ops}
}

// write is any write that the real server survives: no bare check (it is never answered,
// and the server never starts again).
func (r chaos) write() operation {
	switch n := r.IntN(60); {
	case n < 22:
		return r.create(opCreate)
	case n < 26:
		return r.create(opCreate2)
	case n < 28:
		return r.container()
	case n < 38:
		return deleteOp{r.path(), r.version()}
	case n < 47:
		return setDataOp{r.path(), r.data(), r.version()}
	case n < 49:
		return setACLOp{r.path(), r.acl(), r.version()}
	}
	return r.multi()
}

func (r chaos) watch() bool { return r.IntN(3) == 0 }

func (r chaos) read() operation {
	switch n := r.IntN(40); {
	case n < 6:
		return readOp{opExists, r.path(), r.watch()}
	case n < 12:
		return readOp{opGetData, r.path(), r.watch()}
	case n < 16:
		return readOp{opGetChildren, r.path(), r.watch()}
	case n < 22:
		return readOp{opGetChildren2, r.path(), r.watch()}
	case n < 24:
		return pathOp{opGetACL, r.path()}
	case n < 25:
		return pathOp{opSync, r.path()}
	case n < 28:
		ops := []operation{}
		for range r.IntN(4) {
			ops = append(ops, readOp{[]opCode{opGetData, opGetChildren}[r.IntN(2)], r.path(), r.watch()})
		}
		return multiOp{opMultiRead, ops}
	case n < 30:
		return pathOp{opGetEphemerals, []string{"/", r.root, r.root + "/a", ""}[r.IntN(4)]}
	case n < 32:
		return pathOp{opGetAllChildrenNumber, r.root + "/a"}
	case n < 34:
		return authOp{"digest", []byte("u0:p")}
	case n < 37:
		return watchOp{opRemoveWatches, r.path(), int32(1 + r.IntN(3))}
	}
	lists := [3][]string{}
	for i := range lists {
		for range r.IntN(3) {
			lists[i] = append(lists[i], r.path())
		}
	}
	// The zxid is filled in for each server: it is so many before the last one.
	return setWatchesOp{op: opSetWatches, since: int64(r.IntN(30)), data: lists[0], exist: lists[1], child: lists[2]}
}
