// Package fetcher is the follower: pull from the leader, truncate by epoch, append. Mirrors ReplicaFetcherManager, ReplicaFetcherThread.
package fetcher

import (
	"time"

	"github.com/rs/zerolog"

	"kz/broker/replica"
	"kz/internal/journal"
	"kz/internal/link"
)

// Config is the follower's part of server.properties.
type Config struct {
	BrokerID         int32
	NumFetchers      int           // num.replica.fetchers, per source broker
	WaitMax          time.Duration // replica.fetch.wait.max.ms
	MinBytes         int
	MaxBytes         int // replica.fetch.max.bytes, per partition
	ResponseMaxBytes int
	Backoff          time.Duration // replica.fetch.backoff.ms
	SocketTimeout    time.Duration // replica.socket.timeout.ms
}

// Manager implements replica.Fetchers.
type Manager struct{ replica.Fetchers }

func NewManager(cfg Config, r *replica.Manager, n link.Network, j *journal.Journal, log zerolog.Logger) *Manager {
	panic("contract")
}
