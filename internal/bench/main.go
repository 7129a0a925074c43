// Command bench puts one load, from one outside client, on three kz brokers and on three Apache Kafka
// 2.8.2 brokers in the same run, and prints both and their ratio.
//
// What comes in: flags (what to run, how much). What goes out: one table on stdout; progress on stderr.
// Systems run one after another, each on a ZooKeeper of its own, so that neither takes the other's
// processor; the client is franz-go in this process and so costs both the same. CPU seconds are read
// from /proc/<pid>/stat of the brokers alone. scripts/bench.sh builds kz and calls this.
package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"
)

type options struct {
	kz         string // path of the kz binary
	kafka      string // path of scripts/reference-kafka.sh
	systems    []string
	megabytes  int
	rate       int
	seconds    int
	partitions int
	many       int
	only       *regexp.Regexp
	dir        string
}

func main() {
	var o options
	var systems, only string
	flag.StringVar(&o.kz, "kz", "", "path of the kz binary")
	flag.StringVar(&o.kafka, "kafka", "scripts/reference-kafka.sh", "script that runs Apache Kafka")
	flag.StringVar(&systems, "systems", "kz,kafka", "which to measure, in this order")
	flag.IntVar(&o.megabytes, "mb", 512, "megabytes per produce run")
	flag.IntVar(&o.rate, "rate", 5000, "records a second in the latency run")
	flag.IntVar(&o.seconds, "seconds", 10, "length of the latency run")
	flag.IntVar(&o.partitions, "partitions", 6, "partitions of the loaded topics")
	flag.IntVar(&o.many, "many", 2000, "partitions of the failover run; 0 leaves it out")
	flag.StringVar(&only, "only", "", "measure only the loads whose label matches, as in 'acks=all.*1000 B' or '^latency'")
	flag.Parse()
	o.systems = strings.Split(systems, ",")
	var err error
	if o.only, err = regexp.Compile(only); err != nil {
		fmt.Fprintln(os.Stderr, "bench: -only:", err)
		os.Exit(2)
	}
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	dir, err := os.MkdirTemp("", "kz-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	o.dir = dir
	r := newReport(o.systems)
	if err := limits(dir, r); err != nil {
		return err
	}
	for _, name := range o.systems {
		fmt.Fprintf(os.Stderr, "== %s\n", name)
		if err := measure(o, name, r); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	r.print(os.Stdout)
	return nil
}

// measure runs every line of the table on one system.
func measure(o options, name string, r *report) error {
	s, err := startSystem(o, name, "")
	if err != nil {
		return err
	}
	defer s.stop()
	r.put("start to first metadata answer, one broker", name, s.ready.Seconds()*1000, "ms", lower)
	idle, err := s.resident()
	if err != nil {
		return err
	}
	r.put("resident, idle, mean of three", name, idle, "MB", lower)
	for _, l := range loads(o) {
		if !o.only.MatchString(l.label()) {
			continue
		}
		if err := l.run(s, r); err != nil {
			return fmt.Errorf("%s: %w", l.label(), err)
		}
	}
	if o.only.MatchString(rateLabel(o)) {
		if err := fixedRate(o, s, r); err != nil {
			return err
		}
	}
	loaded, err := s.resident()
	if err != nil {
		return err
	}
	r.put("resident, loaded, mean of three", name, loaded, "MB", lower)
	s.stop()
	if o.many == 0 {
		return nil
	}
	return failover(o, name, r)
}

// deadline bounds every wait of this program.
const deadline = 5 * time.Minute
