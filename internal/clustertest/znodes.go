package clustertest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"kz/internal/link"
	"kz/internal/zk"
	"kz/zkpaths"
)

// Znodes is a ZooKeeper client of the test's own, closed with the test. What it reads is current:
// metadata hears of an ISR change only once the controller was notified, up to seven seconds later.
func Znodes(t testing.TB, zookeeper string) *zk.Client {
	t.Helper()
	return znodes(t, zookeeper, link.TCP{})
}

func znodes(t testing.TB, zookeeper string, n link.Network) *zk.Client {
	t.Helper()
	servers, chroot, err := zk.ParseConnect(zookeeper)
	if err != nil {
		t.Fatal(err)
	}
	c, err := zk.Connect(context.Background(), zk.Config{
		Servers: servers, Chroot: chroot, ExistingChroot: true, SessionTimeout: 20 * time.Second, ConnectionTimeout: 60 * time.Second,
	}, n, nil, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// States reads the state znodes of partitions 0 to n-1.
func States(c *zk.Client, topic string, n int32) ([]zkpaths.PartitionState, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var ops []zk.Op
	for p := range n {
		ops = append(ops, zk.GetOp(zkpaths.PartitionStatePath(topic, p)))
	}
	var out []zkpaths.PartitionState
	for p, r := range c.Do(ctx, ops...) {
		if r.Err != nil {
			return nil, fmt.Errorf("state of %s-%d: %w", topic, p, r.Err)
		}
		s, err := zkpaths.DecodePartitionState(r.Data)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// AwaitISRStored waits until the state znodes of partitions 0 to n-1 name a leader and size members of
// the ISR, among them all of with.
func AwaitISRStored(t testing.TB, c *zk.Client, topic string, n int32, size int, within time.Duration, with ...int32) {
	t.Helper()
	Eventually(t, within, fmt.Sprintf("%d in-sync replicas in each state znode of %s", size, topic), func() (bool, string) {
		states, err := States(c, topic, n)
		if err != nil {
			return false, err.Error()
		}
		for p, s := range states {
			if s.Leader < 0 || len(s.ISR) != size {
				return false, fmt.Sprintf("partition %d: %s", p, s.Encode())
			}
			for _, id := range with {
				if !slices.Contains(s.ISR, id) {
					return false, fmt.Sprintf("partition %d without %d: %s", p, id, s.Encode())
				}
			}
		}
		return true, ""
	})
}
