package up

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Apache is Apache Kafka 2.8.2 as scripts/reference-kafka.sh fetched it: a broker of it may sit in a
// cluster beside ours.
type Apache struct{ java, home string }

// FindApache looks for java and for the jars. Its error says what to type.
func FindApache() (Apache, error) {
	if runtime.GOOS == "windows" {
		return Apache{}, errors.New("Apache Kafka beside kz is started through a Unix shell, which Windows lacks")
	}
	java, err := exec.LookPath("java")
	if err != nil {
		return Apache{}, errors.New("there is no java (Debian: sudo apt-get install default-jre-headless)")
	}
	home := os.Getenv("KAFKA_HOME")
	if home == "" {
		cache := os.Getenv("XDG_CACHE_HOME")
		if cache == "" {
			cache = filepath.Join(os.Getenv("HOME"), ".cache")
		}
		home = filepath.Join(cache, "kz-reference", "kafka-2.8.2")
	}
	if _, err := os.Stat(filepath.Join(home, "complete")); err != nil {
		return Apache{}, fmt.Errorf("Apache Kafka 2.8.2 is not in %s (scripts/reference-kafka.sh fetch, which needs mvn: sudo apt-get install maven)", home)
	}
	return Apache{java, home}, nil
}

// An ApacheBroker is one process of Apache Kafka, over all its lives. It is for one goroutine. As our own
// children it does not outlive its parent: it reads no pipe, so a shell does that for it, and kills it.
type ApacheBroker struct {
	apache  Apache
	id      int32
	config  string // its server.properties
	logFile string

	cmd   *exec.Cmd
	done  chan struct{} // closed when cmd has ended
	said  int64         // how long the log was when this life began
	guard *exec.Cmd     // the shell
}

// NewApacheBroker writes its server.properties to dir, where its data and its log will be, too.
func NewApacheBroker(a Apache, dir string, id int32, settings []Setting) (*ApacheBroker, error) {
	b := &ApacheBroker{apache: a, id: id, config: filepath.Join(dir, BrokerName(id)+".properties"), logFile: filepath.Join(dir, BrokerName(id)+".log")}
	var lines strings.Builder
	for _, s := range settings {
		fmt.Fprintf(&lines, "%s=%s\n", s.Key, s.Value)
	}
	return b, os.WriteFile(b.config, []byte(lines.String()), 0o644)
}

// Start starts the process and does not wait until it serves.
func (b *ApacheBroker) Start() error {
	log, err := os.OpenFile(b.logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close() // the process has its own
	if info, err := log.Stat(); err == nil {
		b.said = info.Size()
	}
	home := b.apache.home
	b.cmd = exec.Command(b.apache.java, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Xmx512m",
		"-cp", filepath.Join(home, "conf")+":"+filepath.Join(home, "libs", "*"),
		"-Dlog4j.configuration=file:"+filepath.Join(home, "conf", "log4j-INFO.properties"), "kafka.Kafka", b.config)
	b.cmd.Stdout, b.cmd.Stderr, b.cmd.SysProcAttr = log, log, ownGroup()
	if err := b.cmd.Start(); err != nil {
		return err
	}
	b.done = make(chan struct{})
	go func(cmd *exec.Cmd, done chan struct{}) {
		_ = cmd.Wait() // what it said is in the log
		close(done)
	}(b.cmd, b.done)
	b.guard = exec.Command("sh", "-c", `read -r _; kill -9 "$1"`, "sh", strconv.Itoa(b.cmd.Process.Pid))
	b.guard.SysProcAttr = ownGroup()
	_, err = b.guard.StdinPipe() // held open until this process ends
	if err == nil {
		err = b.guard.Start()
	}
	if err != nil {
		b.guard = nil
		b.Kill()
		return err
	}
	return nil
}

// Ready waits until the broker says that it serves.
func (b *ApacheBroker) Ready(ctx context.Context) error {
	beat := time.NewTicker(pollEvery)
	defer beat.Stop()
	for {
		all, err := os.ReadFile(b.logFile)
		if err != nil {
			return err
		}
		said := string(all[min(b.said, int64(len(all))):])
		if strings.Contains(said, "started (kafka.server.KafkaServer)") {
			return nil
		}
		select {
		case <-beat.C:
		case <-b.done:
			lines := strings.Split(strings.TrimSpace(said), "\n")
			return fmt.Errorf("broker %d (Apache Kafka) did not start:\n%s", b.id, strings.Join(lines[max(0, len(lines)-5):], "\n"))
		case <-ctx.Done():
			return fmt.Errorf("broker %d (Apache Kafka) was not ready in time; what it says is in %s", b.id, b.logFile)
		}
	}
}

// Kill ends the process as kill -9 does, waits for its end, and says which it was. The shell goes first: it
// must not kill whoever gets the number next.
func (b *ApacheBroker) Kill() (pid int) {
	if b.guard != nil {
		_ = b.guard.Process.Kill()
		_ = b.guard.Wait() // killed
		b.guard = nil
	}
	if b.cmd == nil {
		return 0
	}
	_ = b.cmd.Process.Kill() // fails only when it has ended already
	<-b.done
	return b.cmd.Process.Pid
}
