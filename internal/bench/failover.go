package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/link"
	"kz/internal/zk"
	"kz/zkpaths"
)

// failover measures the controller: many partitions made, one broker killed, each of its partitions
// led again.
func failover(o options, name string, r *report) error {
	s, err := startSystem(o, name, "zookeeper.session.timeout.ms=6000")
	if err != nil {
		return err
	}
	defer s.stop()
	start := time.Now()
	if err := createTopic(s.addrs, "many", o.many, 3); err != nil {
		return err
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(s.addrs...), kgo.MetadataMinAge(10*time.Millisecond))
	if err != nil {
		return err
	}
	defer cl.Close()
	if err := await(cl, func(m *kmsg.MetadataResponse) bool { return led(m, o.many, -1) }); err != nil {
		return err
	}
	r.put(fmt.Sprintf("create %d partitions x 3", o.many), name, time.Since(start).Seconds(), "s", lower)
	rss, err := s.resident()
	if err != nil {
		return err
	}
	r.put(fmt.Sprintf("resident with %d partitions", o.many), name, rss, "MB", lower)

	victim, err := notController(cl)
	if err != nil {
		return err
	}
	gone, err := awaitDeregistered(s.zk, victim)
	if err != nil {
		return err
	}
	if p, err := os.FindProcess(s.pids[victim-1]); err == nil {
		_ = p.Kill()
	}
	if err := await(cl, func(m *kmsg.MetadataResponse) bool { return led(m, o.many, victim) }); err != nil {
		return err
	}
	last := time.Now()
	ended := <-gone
	if ended.IsZero() {
		return fmt.Errorf("the session of broker %d did not end", victim)
	}
	r.put(fmt.Sprintf("end of the session to last of %d leaders", o.many), name, last.Sub(ended).Seconds()*1000, "ms", lower)
	return nil
}

// awaitDeregistered looks at a broker's znode until it is gone, which is the end of its session, and
// then sends the time; the zero time when that did not come.
func awaitDeregistered(addr string, id int32) (<-chan time.Time, error) {
	c, err := zk.Connect(context.Background(), zk.Config{Servers: []string{addr}, SessionTimeout: 30 * time.Second, ConnectionTimeout: 30 * time.Second}, link.TCP{}, nil, zerolog.Nop())
	if err != nil {
		return nil, err
	}
	gone := make(chan time.Time, 1)
	go func() {
		defer c.Close()
		ctx, cancel := context.WithTimeout(context.Background(), deadline)
		defer cancel()
		for ctx.Err() == nil {
			_, there, err := c.Exists(ctx, zkpaths.Broker(id))
			if err == nil && !there {
				gone <- time.Now()
				return
			}
			time.Sleep(time.Millisecond)
		}
		gone <- time.Time{}
	}()
	return gone, nil
}

// led says whether every partition of "many" has a leader that is not dead.
func led(m *kmsg.MetadataResponse, partitions int, dead int32) bool {
	for _, t := range m.Topics {
		if t.Topic == nil || *t.Topic != "many" || len(t.Partitions) != partitions {
			continue
		}
		for _, p := range t.Partitions {
			if p.Leader < 0 || p.Leader == dead {
				return false
			}
		}
		return true
	}
	return false
}

func await(cl *kgo.Client, done func(*kmsg.MetadataResponse) bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	req := kmsg.NewPtrMetadataRequest()
	t := kmsg.NewMetadataRequestTopic()
	t.Topic = kmsg.StringPtr("many")
	req.Topics = append(req.Topics, t)
	for {
		m, err := req.RequestWith(ctx, cl)
		if err == nil && done(m) {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("waited %v for leaders", deadline)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func notController(cl *kgo.Client) (int32, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{}
	m, err := req.RequestWith(context.Background(), cl)
	if err != nil {
		return 0, err
	}
	for _, b := range m.Brokers {
		if b.NodeID != m.ControllerID {
			return b.NodeID, nil
		}
	}
	return 0, fmt.Errorf("only the controller is alive")
}
