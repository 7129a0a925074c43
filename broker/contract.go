// Package broker assembles a broker from its rooms: what is started when, and stopped in reverse. Mirrors KafkaServer.
package broker

import (
	"context"

	"github.com/rs/zerolog"

	"kz/broker/config"
	"kz/broker/network"
	"kz/broker/replica"
	"kz/controller"
	"kz/internal/journal"
	"kz/internal/link"
)

// Options are what a broker is handed besides its config.
type Options struct {
	Network link.Network     // nil: link.TCP
	Journal *journal.Journal // nil: none
	Log     zerolog.Logger
}

// Broker is one running broker.
type Broker struct{}

// New checks nothing and starts nothing.
func New(cfg *config.Config, o Options) *Broker { panic("contract") }

// Start follows facts/zookeeper.md 2.1 step by step; on an error everything started is stopped again. When it returns nil the broker serves.
func (b *Broker) Start(ctx context.Context) error { panic("contract") }

// Stop follows 2.4: controlled shutdown, then the reverse of Start. Kill (tests) ends without controlled shutdown, flush or markers, as kill -9 would,
// but leaves no goroutine behind.
func (b *Broker) Stop() { panic("contract") }
func (b *Broker) Kill() { panic("contract") }

// Done is closed when the broker ended by itself (all log dirs failed); Err says why.
func (b *Broker) Done() <-chan struct{} { panic("contract") }
func (b *Broker) Err() error            { panic("contract") }

func (b *Broker) ID() int32                          { panic("contract") }
func (b *Broker) Endpoints() []network.Endpoint      { panic("contract") } // bound
func (b *Broker) Replicas() *replica.Manager         { panic("contract") }
func (b *Broker) Controller() *controller.Controller { panic("contract") }
