package zkserver

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kz/internal/zktest"
)

var update = flag.Bool("update", false, "write testdata/conformance anew, from what the real ZooKeeper does")

// A scene is operations in a few sessions, all below root. What real ZooKeeper 3.8 made
// of it is in testdata/conformance; the embedded server must tell the same story.
type scene struct {
	name     string
	sessions int
	play     func(n *narrator, root string)
}

// zktestTick and zktestMax are what internal/zktest configures.
const (
	zktestTick = 500 * time.Millisecond
	zktestMax  = 60 * time.Second
)

func conformanceConfig() Config {
	return Config{Tick: zktestTick, MaxSessionTimeout: zktestMax, ReapEvery: time.Hour}
}

// scenes is the table. The first one looks at a new tree, so it must stay the first.
var scenes = []scene{
	{"a new tree", 1, playNewTree},
	{"stats", 1, playStats},
	{"sequence numbers", 1, playSequences},
	{"which error comes first", 1, playErrors},
	{"paths", 1, playPaths},
	{"ephemerals", 2, playEphemerals},
	{"containers and time to live", 1, playKinds},
	{"multi", 1, playMulti},
	{"multiRead", 2, playMultiRead},
	{"standard watches", 2, playWatches},
	{"order of events", 2, playEventOrder},
	{"persistent watches", 2, playPersistentWatches},
	{"removing watches", 2, playRemoveWatches},
	{"setWatches", 2, playSetWatches},
	{"access control", 3, playACL},
	{"events and access control", 2, playFilteredEvents},
	{"other reads", 2, playOtherReads},
	{"malformed bodies", 1, playMalformed},
	{"reconnecting", 2, playReconnect},
	{"requests that end the connection", 2, playFatal},
	{"handshakes", 1, playHandshakes},
}

func TestEmbeddedBehavesAsZooKeeper(t *testing.T) {
	for _, sc := range scenes {
		t.Run(sc.name, func(t *testing.T) {
			want, err := os.ReadFile(sc.golden())
			if err != nil {
				t.Fatal(err)
			}
			s := start(t, conformanceConfig())
			compareStories(t, sc.tell(t, s.Addr()), string(want))
		})
	}
}

// The stories are those of the real one, as it is today.
func TestStoriesAreZooKeepers(t *testing.T) {
	real := zktest.Start(t)
	for _, sc := range scenes {
		t.Run(sc.name, func(t *testing.T) {
			story := sc.tell(t, real.Addr)
			if *update {
				if err := os.WriteFile(sc.golden(), []byte(story), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(sc.golden())
			if err != nil {
				t.Fatal(err)
			}
			compareStories(t, story, string(want))
		})
	}
}

func (sc scene) golden() string {
	return filepath.Join("testdata", "conformance", strings.ReplaceAll(sc.name, " ", "-")+".txt")
}

func (sc scene) tell(t *testing.T, addr string) string {
	n := narrate(t, addr, sc.sessions)
	defer n.end()
	root := "/" + strings.ReplaceAll(sc.name, " ", "-")
	if sc.name != scenes[0].name {
		n.do(0, create(root, ""))
	}
	sc.play(n, root)
	return n.story.String()
}

func compareStories(t *testing.T, got, want string) {
	t.Helper()
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		var a, b string
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			t.Fatalf("line %d\n got %s\nwant %s\nafter\n%s", i+1, a, b, strings.Join(g[max(0, i-5):min(i, len(g))], "\n"))
		}
	}
}

func exists(path string) readOp      { return readOp{op: opExists, path: path} }
func get(path string) readOp         { return readOp{op: opGetData, path: path} }
func list(path string) readOp        { return readOp{op: opGetChildren2, path: path} }
func watching(o readOp) readOp       { o.watch = true; return o }
func multi(ops ...operation) multiOp { return multiOp{opMulti, ops} }

func (n *narrator) all(who int, ops ...any) {
	for _, o := range ops {
		n.do(who, o.(operation))
	}
}

// Ref: ZooKeeper 3.8 DataTree, ZKDatabase.initConfigInZKDatabase
func playNewTree(n *narrator, _ string) {
	for _, path := range []string{"/", "/zookeeper", "/zookeeper/quota", "/zookeeper/config"} {
		n.all(0, get(path), list(path), pathOp{opGetACL, path})
	}
	n.all(0, exists(""), get(""), pathOp{opGetAllChildrenNumber, "/"})
	for _, path := range []string{"/", "/zookeeper", "/zookeeper/quota", "/zookeeper/config"} {
		n.all(0, remove(path))
	}
	n.all(0, set("/", "x"), set("/zookeeper/quota", "y"), create("/first", ""), createAs("/", 2), list("/"), remove("/first"), list("/"))
}

// Ref: ZooKeeper 3.8 DataTree.createNode, deleteNode, setData, setACL
func playStats(n *narrator, root string) {
	p := root + "/n"
	n.all(0, create(p, "abc"), exists(p), set(p, "abc"), setDataOp{p, nil, 1}, get(p), setDataOp{p, []byte{}, 2}, get(p), set(p, "x"),
		setACLOp{p, openACL, anyVersion}, exists(p),
		create(p+"/kid", "1"), exists(p), set(p+"/kid", "2"), exists(p), create(p+"/kid/grand", ""), exists(p), remove(p+"/kid/grand"), exists(p),
		setACLOp{p + "/kid", openACL, 0}, exists(p), remove(p+"/kid"), exists(p), remove(p), create(p, "again"), exists(p), list(root),
		createOp{opCreate2, p + "/two", []byte("xy"), openACL, 0, -1}, multiOp{opMulti, []operation{set(p, "m"), set(p, "mm")}}, get(p))
}

// Ref: ZooKeeper 3.8 PrepRequestProcessor (parentCVersion), DataTree.createNode
func playSequences(n *narrator, root string) {
	seq := root + "/n-"
	for range 3 {
		n.all(0, createAs(seq, 2))
	}
	n.all(0, create(root+"/plain", ""), createAs(seq, 2), remove(seq+"0000000000"), remove(seq+"0000000001"), exists(root),
		createAs(seq, 2), createAs(seq, 3), create(root+"/plain", ""), createAs(seq, 2), remove(root+"/none"), createAs(seq, 2),
		multi(createAs(seq, 2), createAs(seq, 2), remove(root+"/none")), createAs(seq, 2),
		multi(createAs(root+"/m-", 2), createAs(root+"/m-", 2), createAs(root+"/q-", 2)),
		createAs(root+"/", 2), createAs(root+"/none/", 2), createAs("", 2), create(root+"/plain/kid", ""), remove(root+"/plain/kid"),
		createAs(root+"/plain/", 2), list(root+"/plain"), list(root))
}

// Ref: ZooKeeper 3.8 PrepRequestProcessor.pRequest2Txn
func playErrors(n *narrator, root string) {
	p, eph := root+"/p", root+"/eph"
	nobody := []acl{{permAll, "auth", ""}}
	n.all(0, create(p, ""), create(p+"/kid", ""), createAs(eph, 1),
		setDataOp{p, nil, 7}, setDataOp{p, nil, -2}, set(root+"/none", ""), set(p+"/", ""), set("no-slash", ""),
		deleteOp{p, 7}, deleteOp{p, anyVersion}, remove(root+"/none"), remove(root+"/none/kid"), remove(""), remove("no-slash"), remove(p+"/kid/"),
		create(eph+"/kid", ""), createAs(eph+"/kid", 2), create(eph, ""), create(p, ""), create(root+"/none/kid", ""),
		createOp{opCreate, root + "/none/kid", nil, nobody, 0, -1}, createOp{opCreate, p, nil, nil, 0, -1}, createOp{opCreate, p, nil, openACL, 7, -1},
		createOp{opCreate, p, nil, nil, -1, -1}, createOp{opCreate, root + "/none/\x01", nil, openACL, 0, -1},
		setACLOp{p, nil, anyVersion}, setACLOp{root + "/none", openACL, anyVersion}, setACLOp{root + "/none", nil, anyVersion}, setACLOp{p, openACL, 3}, setACLOp{p + "/", nil, 0},
		exists(root+"/none"), get(root+"/none"), list(root+"/none"), pathOp{opGetACL, root + "/none"}, pathOp{opGetAllChildrenNumber, root + "/none"},
		multi(checkOp{p, 4}), multi(checkOp{root + "/none", 0}), multi(checkOp{p + "/", 0}), exists(root))
}

// Ref: ZooKeeper 3.8 PathUtils.validatePath
func playPaths(n *narrator, root string) {
	for _, tail := range []string{"/", "//x", "/.", "/..", "/../x", "/a\x00", "/\x1f", "/\x7f", "/\u009f", "/é", "/字", "/\ue000", "/\ufff0", "/😀", "/\xff", "/ ", "/a b", "/...", "/.a"} {
		n.all(0, create(root+tail, ""), exists(root+tail), set(root+tail, "x"), remove(root+tail))
	}
	n.all(0, create("/", ""), create("x"+root, ""), create("", ""), exists("x"), list(root))
}

func playEphemerals(n *narrator, root string) {
	e := root + "/e"
	n.all(0, createAs(e+"1", 1), createAs(e+"2", 1), createAs(e, 3), exists(e+"1"), pathOp{opGetEphemerals, "/"}, pathOp{opGetEphemerals, e + "1"}, pathOp{opGetEphemerals, ""})
	n.all(1, createAs(e+"3", 1), pathOp{opGetEphemerals, root}, watching(list(root)), watching(exists(e+"1")), watching(get(e+"2")), remove(e+"2"))
	n.all(0, pathOp{opGetEphemerals, "/"}, watching(get(e+"1")), exists(root), bareOp{opCloseSession})
	n.all(1, exists(root), list(root), remove(e+"3"), pathOp{opGetEphemerals, "/"}, exists(root))
}

func playKinds(n *narrator, root string) {
	n.all(0, createOp{opCreateContainer, root + "/c", nil, openACL, 4, -1}, exists(root+"/c"), create(root+"/c/kid", ""), remove(root+"/c/kid"), exists(root+"/c"),
		createOp{opCreateContainer, root + "/c2", nil, openACL, 0, -1}, createOp{opCreateTTL, root + "/t", nil, openACL, 5, 1000}, createOp{opCreateTTL, root + "/t", nil, openACL, 6, 1000},
		createOp{opCreate, root + "/t", nil, openACL, 5, -1}, list(root))
}

// Ref: ZooKeeper 3.8 PrepRequestProcessor, case multi; FinalRequestProcessor, case multi
func playMulti(n *narrator, root string) {
	a, b := root+"/a", root+"/b"
	n.all(0, multi(), create(a, ""), multi(checkOp{a, 0}, create(b, ""), create(b+"/c", ""), set(a, "A"), set(a, "AA"), remove(b+"/c"),
		createOp{opCreateContainer, root + "/cont", nil, openACL, 4, -1}, createOp{opCreate2, root + "/two", nil, openACL, 0, -1}, createAs(root+"/s-", 2)), exists(root),
		multi(remove(root+"/none"), create(root+"/x", "")), multi(create(root+"/x", ""), checkOp{a, 9}, set(a, ""), remove(a)), multi(create(root+"/x", ""), create(b, "")),
		exists(root+"/x"), exists(root), multi(checkOp{a, 2}), multi(create(root+"/k", ""), checkOp{root + "/k", 0}, remove(root+"/k")),
		multi(get(a)), multi(create(root+"/x", ""), bareOp{77}), multi(create(root+"/p", ""), create(root+"/p/q", ""), remove(root+"/p")),
		multi(createAs(root+"/e", 1), createAs(root+"/e/kid", 0)), multi(remove(a), create(a, "new"), set(a, "newer")), exists(a), exists(root))
}

func playMultiRead(n *narrator, root string) {
	kids := readOp{op: opGetChildren, path: root}
	n.all(0, create(root+"/a", "A"), multiOp{opMultiRead, nil}, multiOp{opMultiRead, []operation{get(root + "/a"), kids, get(root + "/none"), kids}},
		multiOp{opMultiRead, []operation{exists(root)}})
	n.all(1, multiOp{opMultiRead, []operation{watching(get(root + "/a")), watching(kids)}})
	n.all(0, set(root+"/a", "B"), create(root+"/b", ""))
}
