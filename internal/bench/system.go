package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A system is three brokers of one kind on a ZooKeeper of its own.
type system struct {
	name    string
	o       options
	dir     string
	zk      string // host:port
	addrs   []string
	pids    []int         // brokers
	ready   time.Duration // start of the first broker to its first metadata answer
	running bool
}

// Real Kafka gets the flags that it ships with, except for a heap that lets three brokers share a
// small machine.
const kafkaJVM = "-Xms512m -Xmx1g -server -XX:+UseG1GC -XX:MaxGCPauseMillis=20 -XX:InitiatingHeapOccupancyPercent=35 -XX:+ExplicitGCInvokesConcurrent"

// startSystem starts ZooKeeper and three brokers. extra is one more property per line.
func startSystem(o options, name, extra string) (*system, error) {
	dir, err := os.MkdirTemp(o.dir, name+"-")
	if err != nil {
		return nil, err
	}
	s := &system{name: name, o: o, dir: dir, running: true}
	zkPort := freePort()
	s.zk = fmt.Sprintf("127.0.0.1:%d", zkPort)
	if err := s.script(nil, "zookeeper", dir, strconv.Itoa(zkPort)); err != nil {
		return nil, err
	}
	for id := 1; id <= 3; id++ {
		start := time.Now()
		addr, pid, err := s.startBroker(id, extra)
		if err != nil {
			s.stop()
			return nil, err
		}
		s.addrs, s.pids = append(s.addrs, addr), append(s.pids, pid)
		if err := awaitMetadata(addr, id); err != nil {
			s.stop()
			return nil, err
		}
		if id == 1 {
			s.ready = time.Since(start)
		}
	}
	return s, nil
}

func (s *system) startBroker(id int, extra string) (addr string, pid int, err error) {
	port := freePort()
	addr = fmt.Sprintf("127.0.0.1:%d", port)
	if s.name == "kafka" {
		args := []string{"broker", s.dir, strconv.Itoa(id), strconv.Itoa(port), s.zk, "offsets.topic.replication.factor=1"}
		args = append(args, strings.Fields(extra)...)
		if err := s.script([]string{"KAFKA_JVM=" + kafkaJVM}, args...); err != nil {
			return "", 0, err
		}
		b, err := os.ReadFile(filepath.Join(s.dir, fmt.Sprintf("broker-%d.pid", id)))
		if err != nil {
			return "", 0, err
		}
		pid, err = strconv.Atoi(strings.TrimSpace(string(b)))
		return addr, pid, err
	}
	config := filepath.Join(s.dir, fmt.Sprintf("broker-%d.properties", id))
	text := fmt.Sprintf("broker.id=%d\nlisteners=PLAINTEXT://%s\nlog.dirs=%s\nzookeeper.connect=%s\noffsets.topic.replication.factor=1\n%s\n",
		id, addr, filepath.Join(s.dir, fmt.Sprintf("broker-%d", id)), s.zk, strings.Join(strings.Fields(extra), "\n"))
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		return "", 0, err
	}
	log, err := os.Create(filepath.Join(s.dir, fmt.Sprintf("broker-%d.log", id)))
	if err != nil {
		return "", 0, err
	}
	defer log.Close()
	cmd := exec.Command(s.o.kz, "broker", "--config", config)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return "", 0, err
	}
	go func() { _ = cmd.Wait() }()
	return addr, cmd.Process.Pid, nil
}

// script runs the reference script, which starts what outlives it.
func (s *system) script(env []string, args ...string) error {
	cmd := exec.Command(s.o.kafka, args...)
	cmd.Env = append(os.Environ(), env...)
	log, err := os.OpenFile(filepath.Join(s.dir, "script.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Run(); err != nil {
		b, _ := os.ReadFile(log.Name())
		return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, b)
	}
	return nil
}

// stop kills the brokers and stops ZooKeeper. It may be called twice.
func (s *system) stop() {
	if !s.running {
		return
	}
	s.running = false
	for _, pid := range s.pids {
		if p, err := os.FindProcess(pid); err == nil {
			_ = p.Kill()
		}
	}
	if err := s.script(nil, "stop", s.dir, "zookeeper"); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
	_ = os.RemoveAll(s.dir)
}

func freePort() int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// awaitMetadata asks the broker itself until it answers and names itself.
func awaitMetadata(addr string, id int) error {
	end := time.Now().Add(deadline)
	for time.Now().Before(end) {
		ok, err := listsItself(addr, id)
		if err == nil && ok {
			return nil
		}
		time.Sleep(2 * time.Millisecond)
	}
	return errors.New("no metadata from " + addr)
}

func listsItself(addr string, id int) (bool, error) {
	c, err := net.DialTimeout("tcp", addr, time.Second) // cheap while nobody listens
	if err != nil {
		return false, err
	}
	_ = c.Close()
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.RequestRetries(0))
	if err != nil {
		return false, err
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{}
	resp, err := cl.SeedBrokers()[0].Request(ctx, req)
	if err != nil {
		return false, err
	}
	for _, b := range resp.(*kmsg.MetadataResponse).Brokers {
		if int(b.NodeID) == id {
			return true, nil
		}
	}
	return false, nil
}

// resident is the mean VmRSS of the brokers, in MB.
func (s *system) resident() (float64, error) {
	var sum float64
	for _, pid := range s.pids {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			return 0, err
		}
		for _, l := range strings.Split(string(b), "\n") {
			var kb float64
			if n, _ := fmt.Sscanf(l, "VmRSS: %f kB", &kb); n == 1 {
				sum += kb / 1024
			}
		}
	}
	return sum / float64(len(s.pids)), nil
}

// cpu is the processor time the brokers have used so far, in seconds.
func (s *system) cpu() (float64, error) {
	const ticks = 100 // USER_HZ, fixed on Linux
	var sum float64
	for _, pid := range s.pids {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return 0, err
		}
		_, rest, _ := strings.Cut(string(b), ") ") // the name may hold spaces
		f := strings.Fields(rest)
		if len(f) < 13 {
			return 0, fmt.Errorf("/proc/%d/stat is short", pid)
		}
		for _, x := range f[11:13] { // utime, stime
			n, err := strconv.ParseFloat(x, 64)
			if err != nil {
				return 0, err
			}
			sum += n / ticks
		}
	}
	return sum, nil
}
