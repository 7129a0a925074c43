package up

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A journal is read while it is written: half a line waits for its other half, and what a
// kill left in the middle of a write is passed over.
func TestTail(t *testing.T) {
	file := filepath.Join(t.TempDir(), "j.jsonl")
	write := func(s string) {
		f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(s); err != nil {
			t.Fatal(err)
		}
	}
	early, err := TailFromEnd(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := early.Next(); len(got) != 0 {
		t.Errorf("of no file: %v", got)
	}
	write(`{"seq":1,"kind":"broker.started"}` + "\n" + `{"seq":2,"ki`)
	late, err := TailFromEnd(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := early.Next(); len(got) != 1 || got[0].Seq != 1 {
		t.Errorf("first: %v", got)
	}
	if got := early.Next(); len(got) != 0 {
		t.Errorf("half a line was handed out: %v", got)
	}
	write("\n" + `{"seq":3,"kind":"broker.stopping"}` + "\n")
	for name, tail := range map[string]*Tail{"from the start": early, "from the middle": late} {
		if got := tail.Next(); len(got) != 1 || got[0].Seq != 3 {
			t.Errorf("%s: %v, want event 3 only", name, got)
		}
	}
}

// Each port that is taken is named, and nothing is started.
func TestTakenPortsAreNamed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	taken := l.Addr().(*net.TCPAddr).Port
	c, err := New(Config{Exe: "never-run", Dir: t.TempDir(), ZooPort: taken, Ports: map[int32]int{1: taken}})
	if err != nil {
		t.Fatal(err)
	}
	err = c.Start(t.Context())
	if !errors.Is(err, ErrPortTaken) || !strings.Contains(err.Error(), "zookeeper needs port") || !strings.Contains(err.Error(), "broker-1 needs port") {
		t.Errorf("got %v", err)
	}
}

func TestProfiles(t *testing.T) {
	class, err := ProfileNamed("class")
	if err != nil || len(class.Changed) == 0 {
		t.Errorf("class: %v, %v", class, err)
	}
	faithful, err := ProfileNamed("faithful")
	if err != nil || len(faithful.Changed) != 0 {
		t.Errorf("faithful changes nothing, but: %v, %v", faithful, err)
	}
	if _, err := ProfileNamed("fast"); err == nil || !strings.Contains(err.Error(), "class and faithful") {
		t.Errorf("an unknown profile: %v", err)
	}
}

// A stranger's port is named at once; one that the processes of a killed supervisor still
// have is waited for.
func TestPortsOfAnEarlierRun(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := New(Config{Dir: t.TempDir(), Ports: map[int32]int{1: l.Addr().(*net.TCPAddr).Port}, ZooKeeper: "127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.awaitPorts(t.Context()); !errors.Is(err, ErrPortTaken) {
		t.Errorf("a stranger has the port: %v", err)
	}
	c.bereft = true
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.awaitPorts(ended); !errors.Is(err, ErrPortTaken) {
		t.Errorf("waited in vain: %v", err)
	}
	free := make(chan error)
	go func() { free <- c.awaitPorts(t.Context()) }()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-free; err != nil {
		t.Errorf("the port was given up: %v", err)
	}
}

// What somebody has written into cluster.json is checked before anything is started by it.
func TestSpecsThatNobodyCanStart(t *testing.T) {
	for name, tt := range map[string]struct{ spec, want string }{
		"no port":          {`{"ports":{"1":70000},"zookeeperPort":2181,"profile":"class"}`, "port 70000 of broker-1"},
		"port 0":           {`{"ports":{"1":0},"zookeeperPort":2181,"profile":"class"}`, "port 0 of broker-1"},
		"one port for two": {`{"ports":{"1":9092,"2":9092},"zookeeperPort":2181,"profile":"class"}`, "broker-1 and broker-2"},
		"ZooKeeper's, too": {`{"ports":{"1":9092},"zookeeperPort":9092,"profile":"class"}`, "broker-1 and zookeeper"},
		"no ZooKeeper":     {`{"ports":{"1":9092},"profile":"class"}`, "port 0 of zookeeper"},
		"negative id":      {`{"ports":{"-1":9092},"zookeeperPort":2181,"profile":"class"}`, "-1 is no broker id"},
		"profile":          {`{"ports":{"1":9092},"zookeeperPort":2181,"profile":"clas"}`, "class"},
		"garbage":          {`{"ports":`, "names no brokers"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, specFile), []byte(tt.spec), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadSpec(dir); err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "is damaged") {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}
