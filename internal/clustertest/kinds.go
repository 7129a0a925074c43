package clustertest

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Kind is what a node of a Processes cluster runs. Both kinds get the same server.properties, take
// the same signals, and keep their partitions in the same place, so that a node may change its kind
// between two lives.
type Kind string

const (
	KZ    Kind = "kz"    // this project's broker
	Kafka Kind = "kafka" // Apache Kafka 2.8.2, started by scripts/reference-kafka.sh
)

// ReferenceKafka is the path of scripts/reference-kafka.sh with Kafka fetched, or a skip that says what
// is missing. KZ_REQUIRE_JAVA=1 turns the skip into a failure.
func ReferenceKafka(t testing.TB) string {
	t.Helper()
	for _, program := range []string{"java", "mvn"} {
		if _, err := exec.LookPath(program); err == nil {
			continue
		}
		if os.Getenv("KZ_REQUIRE_JAVA") == "1" {
			t.Fatalf("KZ_REQUIRE_JAVA=1, but there is no %s", program)
		}
		t.Skipf("needs Apache Kafka: there is no %s (Debian: apt install default-jre-headless maven)", program)
	}
	script, err := fetchOnce()
	if err != nil {
		t.Fatal(err)
	}
	return script
}

var fetchOnce = sync.OnceValues(func() (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	script := filepath.Join(root, "scripts", "reference-kafka.sh")
	if out, err := exec.Command(script, "fetch").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s fetch: %w\n%s", script, err, out)
	}
	return script, nil
})

// Become changes what the node runs from the next start on, over the same directory and address.
func (n *Node) Become(k Kind) {
	n.cluster.t.Helper()
	if k == Kafka {
		ReferenceKafka(n.cluster.t)
	}
	n.Kind = k
}

// command is the process to start, not yet started. Kafka's shell replaces itself by java, so that the
// process is the broker in both cases: signals reach it, and its end is the broker's end.
func (n *Node) command(config string) *exec.Cmd {
	if n.Kind == Kafka {
		return exec.Command(ReferenceKafka(n.cluster.t), "serve", config)
	}
	return exec.Command(n.cluster.binary, "broker", "--config", config, "--journal", n.Journal)
}

// Unregistered says whether ZooKeeper holds no /brokers/ids/<id>. A node that was killed is registered
// until its session ends.
func (n *Node) Unregistered() (bool, string) {
	server, _, _ := strings.Cut(strings.Split(n.cluster.Zookeeper, ",")[0], "/")
	dump, err := fourLetters(server, "dump")
	if err != nil {
		return false, err.Error()
	}
	for line := range strings.Lines(dump) {
		if strings.HasSuffix(strings.TrimSpace(line), fmt.Sprintf("/brokers/ids/%d", n.ID)) {
			return false, strings.TrimSpace(line) + " is there"
		}
	}
	return true, ""
}

// fourLetters asks a ZooKeeper server one of its four-letter words.
func fourLetters(addr, word string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := io.WriteString(conn, word); err != nil {
		return "", err
	}
	b, err := io.ReadAll(conn)
	return string(b), err
}

// OfKind is the nodes that run k now, by id.
func (c *Processes) OfKind(k Kind) []*Node {
	var out []*Node
	for _, n := range c.Sorted() {
		if n.Kind == k {
			out = append(out, n)
		}
	}
	return out
}
