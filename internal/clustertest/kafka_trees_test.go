package clustertest_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"kz/internal/clustertest"
	"kz/internal/zkrelay"
)

// A znode is one node of a tree, captured or read. testdata holds trees of real Kafka on real ZooKeeper:
// NN-step.jsonl is the tree after that step, a node a line.
type znode struct {
	Path      string  `json:"path"`
	Data      *string `json:"data"` // nil is null
	Version   int32   `json:"version"`
	Ephemeral bool    `json:"ephemeral"`
}

func (z znode) String() string {
	data := "null"
	if z.Data != nil {
		data = *z.Data
	}
	kind := ""
	if z.Ephemeral {
		kind = " ephemeral"
	}
	return fmt.Sprintf("%s v%d%s %s", z.Path, z.Version, kind, data)
}

func capturedTree(t *testing.T, step string) (tree []znode) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", step+".jsonl"))
	must(t, err)
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var z znode
		must(t, json.Unmarshal(lines.Bytes(), &z))
		tree = append(tree, z)
	}
	return tree
}

var (
	timestamp = regexp.MustCompile(`"timestamp":"\d+"`)
	clusterID = regexp.MustCompile(`"id":"[\w-]{22}"`)
)

// presentTree reads what is there now, in the captures' words: their ports, and no times or ids.
func presentTree(c *clustertest.Processes) ([]znode, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	nodes, err := zkrelay.ReadTree(ctx, c.Zookeeper)
	var tree []znode
	for _, n := range nodes {
		z := znode{Path: n.Path, Version: n.Version, Ephemeral: n.Ephemeral}
		if n.Data != nil {
			s := clusterID.ReplaceAllString(timestamp.ReplaceAllString(string(n.Data), `"timestamp":"TIMESTAMP"`), `"id":"CLUSTER_ID"`)
			for _, b := range c.Sorted() {
				_, port, _ := strings.Cut(b.Addr, ":")
				s = strings.NewReplacer(b.Addr, fmt.Sprint("127.0.0.1:", 19100+b.ID), `"port":`+port, fmt.Sprint(`"port":`, 19100+b.ID)).Replace(s)
			}
			z.Data = &s
		}
		if n.ACL != "world:anyone:cdrwa" {
			return nil, fmt.Errorf("%s has the ACL %s", n.Path, n.ACL)
		}
		tree = append(tree, z)
	}
	return tree, err
}

// A view is what of a tree is compared, and how: it removes what a capture does not speak of and what
// chance decides, from both sides alike.
type view func(tree []znode) []znode

// without leaves out nodes and all below them.
func without(paths ...string) view {
	return func(tree []znode) []znode {
		return slices.DeleteFunc(slices.Clone(tree), func(z znode) bool {
			return slices.ContainsFunc(paths, func(p string) bool { return z.Path == p || strings.HasPrefix(z.Path, p+"/") })
		})
	}
}

// withoutTopics leaves out all of some topics.
func withoutTopics(names ...string) view {
	var paths []string
	for _, n := range names {
		paths = append(paths, "/brokers/topics/"+n, "/config/topics/"+n)
	}
	return without(paths...)
}

// anyController does not look at who won the race for /controller.
func anyController(tree []znode) []znode {
	id := regexp.MustCompile(`"brokerid":\d`)
	return rewritten(tree, "/controller", func(s string) string { return id.ReplaceAllString(s, `"brokerid":ANY`) })
}

// anyReplicas names the replica lists of topics whose lists Kafka draws at random: what is compared is
// that the first of each leads and that all are in sync.
func anyReplicas(topics ...string) view {
	list := regexp.MustCompile(`"(\d+)":\[(\d[\d,]*)\]`)
	return func(tree []znode) []znode {
		for _, topic := range topics {
			path := "/brokers/topics/" + topic
			lists := map[string]string{} // partition → replicas
			tree = rewritten(tree, path, func(s string) string {
				for _, m := range list.FindAllStringSubmatch(s, -1) {
					lists[m[1]] = m[2]
				}
				return list.ReplaceAllStringFunc(s, func(m string) string { return fmt.Sprintf("%d replicas", strings.Count(m, ",")+1) })
			})
			for p, replicas := range lists {
				first, _, _ := strings.Cut(replicas, ",")
				tree = rewritten(tree, path+"/partitions/"+p+"/state", func(s string) string {
					return strings.NewReplacer(`"leader":`+first+",", `"leader":FIRST,`, "["+replicas+"]", "ALL").Replace(s)
				})
			}
		}
		return tree
	}
}

func rewritten(tree []znode, path string, rewrite func(string) string) []znode {
	tree = slices.Clone(tree)
	for i, z := range tree {
		if z.Path == path && z.Data != nil {
			s := rewrite(*z.Data)
			tree[i].Data = &s
		}
	}
	return tree
}

// differences lists the nodes that only one tree has as they are.
func differences(captured, present []znode) string {
	count := map[string]int{}
	for _, z := range captured {
		count[z.String()]++
	}
	for _, z := range present {
		count[z.String()]--
	}
	var out []string
	for line, n := range count {
		switch {
		case n > 0:
			out = append(out, line+"   <- captured")
		case n < 0:
			out = append(out, line+"   <- here")
		}
	}
	slices.SortFunc(out, cmp.Compare)
	return strings.Join(out, "\n")
}

// treeBecomes waits until the tree is that of a captured step.
func treeBecomes(t *testing.T, c *clustertest.Processes, step string, views ...view) {
	t.Helper()
	captured := capturedTree(t, step)
	for _, v := range views {
		captured = v(captured)
	}
	clustertest.Eventually(t, 180*time.Second, "the tree of step "+step, func() (bool, string) {
		present, err := presentTree(c)
		if err != nil {
			return false, err.Error()
		}
		for _, v := range views {
			present = v(present)
		}
		diff := differences(captured, present)
		return diff == "", "\n" + diff
	})
	t.Logf("the tree of step %s", step)
}
