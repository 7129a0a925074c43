package clustertest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kz/internal/link"
)

// A Server is one broker to which a client's stories are told, whatever it runs.
type Server struct {
	Seeds     []string
	Zookeeper string
}

// OnServers runs a test, in real time, on a broker of kz and on one of Apache Kafka, side by side:
// what is true of a client must be true of it on both. On another server:
//
//	KZ_BOOTSTRAP=127.0.0.1:9092 KZ_ZOOKEEPER=127.0.0.1:2181 go test -run OnServers ./client/...
//
// Not with -short: what kz is told there it is told in a bubble, too.
func OnServers(t *testing.T, props map[string]string, body func(t *testing.T, s Server)) {
	t.Helper()
	if testing.Short() {
		t.Skip("not with -short: the same stories are told to kz in virtual time")
	}
	if seeds := os.Getenv("KZ_BOOTSTRAP"); seeds != "" {
		body(t, Server{Seeds: strings.Split(seeds, ","), Zookeeper: os.Getenv("KZ_ZOOKEEPER")})
		return
	}
	for _, k := range []Kind{KZ, Kafka} {
		t.Run(string(k), func(t *testing.T) {
			t.Parallel()
			if k == Kafka {
				ReferenceKafka(t)
			}
			zookeeper := startEmbedded(t, link.TCP{}, freeAddr(t), filepath.Join(t.TempDir(), "zookeeper"))
			c := NewProcesses(t, zookeeper.Connect())
			n := c.Add(1, props)
			n.Become(k)
			n.StartServing()
			body(t, Server{Seeds: c.Seeds(), Zookeeper: zookeeper.Connect()})
		})
	}
}

// SideBySide lets n tests that wait most of the time run at once, also where tests have one CPU.
// For a TestMain, before Main.
func SideBySide(n string) {
	flag.Parse()
	_ = flag.Set("test.parallel", n)
}
