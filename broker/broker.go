package broker

import (
	"sync"

	"github.com/rs/zerolog"

	"kz/broker/admin"
	"kz/broker/api"
	"kz/broker/commitlog"
	"kz/broker/config"
	"kz/broker/group"
	"kz/broker/metadata"
	"kz/broker/network"
	"kz/broker/replica"
	"kz/controller"
	"kz/internal/journal"
	"kz/internal/link"
	"kz/internal/zk"
)

// Options are what a broker is handed besides its config.
type Options struct {
	Network link.Network     // nil: link.TCP
	Journal *journal.Journal // nil: none
	Log     zerolog.Logger
}

// Broker is one running broker: Start once, then Stop or Kill once.
type Broker struct {
	cfg     *config.Config // as handed in; own copy, because the id may be filled in
	network link.Network
	journal *journal.Journal
	log     zerolog.Logger

	// The rooms, in the order in which Start makes them; nil = not reached. Written by
	// Start alone, read by Stop and by those who know that Start has returned.
	zk         *zk.Client
	logs       *commitlog.Manager
	configs    *admin.Configs
	metadata   *metadata.Cache
	server     *network.Server
	replicas   *replica.Manager
	groups     *group.Coordinator
	controller *controller.Controller
	admin      *admin.Manager
	api        *api.API
	changes    *admin.Changes

	clusterID string
	started   bool // Start got to its end

	ended    chan struct{} // closed when the broker ended by itself
	endOnce  sync.Once     // guards endErr and the close of ended
	endErr   error
	stopOnce sync.Once
}

// New checks nothing and starts nothing.
func New(cfg *config.Config, o Options) *Broker {
	own := *cfg
	if o.Network == nil {
		o.Network = link.TCP{}
	}
	return &Broker{cfg: &own, network: o.Network, journal: o.Journal, log: o.Log, ended: make(chan struct{})}
}

// ID is the broker's id; -1 before Start found out, when it is to be generated.
func (b *Broker) ID() int32 { return b.cfg.BrokerID }

// ClusterID is what /cluster/id says.
func (b *Broker) ClusterID() string { return b.clusterID }

// Endpoints are the bound listeners.
func (b *Broker) Endpoints() []network.Endpoint { return b.server.Endpoints() }

// Replicas is the broker's replication room.
func (b *Broker) Replicas() *replica.Manager { return b.replicas }

// Controller is this broker's controller, active or not.
func (b *Broker) Controller() *controller.Controller { return b.controller }

// Done is closed when the broker ended by itself, because no log directory is left; Err
// says why. Stop must still be called.
func (b *Broker) Done() <-chan struct{} { return b.ended }

// Err is why Done was closed, or nil.
func (b *Broker) Err() error {
	select {
	case <-b.ended:
		return b.endErr
	default:
		return nil
	}
}
