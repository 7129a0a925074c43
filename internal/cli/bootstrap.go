package cli

import (
	"context"
	"os"
	"strings"

	"kz/internal/up"
)

// Where a tool looks when it is not told. The cluster of this machine is the one whose
// directory kz up would take: $KZ_DIR, which `eval $(kz env)` sets, else ./kz-cluster.
// ZooKeeper's own port is the last resort of those that look into ZooKeeper.
const (
	dirVariable      = "KZ_DIR"
	defaultZooKeeper = "127.0.0.1:2181"
)

func clusterDir() string {
	if dir := os.Getenv(dirVariable); dir != "" {
		return dir
	}
	return defaultClusterDir
}

// runningCluster is the cluster of this machine, if it runs.
func runningCluster(ctx context.Context) (up.Snapshot, bool) {
	s, err := snapshotOf(ctx, clusterDir())
	return s, err == nil
}

// runningBootstrap is --bootstrap-server when it is not given; "" when no cluster runs.
func runningBootstrap(ctx context.Context) string {
	s, _ := runningCluster(ctx)
	return strings.Join(s.Bootstrap, ",")
}

// startOne is what to type when a tool knows no broker; flag is how the tool is told.
func startOne(flag string) string {
	return "No cluster runs in " + clusterDir() + ". Start one: kz up --detach; or say where one is: " + flag
}

// fill gives a flag that was not given the running cluster's brokers, unless one of the
// others says where to look.
func (o *options) fill(ctx context.Context, name string, others ...string) {
	fillIn(ctx, o.seen, name, others)
}

func (a *arguments) fill(ctx context.Context, name string, others ...string) {
	fillIn(ctx, a.seen, name, others)
}

func fillIn(ctx context.Context, seen map[string][]string, name string, others []string) {
	for _, n := range append(others, name) {
		if _, given := seen[n]; given {
			return
		}
	}
	if servers := runningBootstrap(ctx); servers != "" {
		seen[name] = []string{servers}
	}
}
