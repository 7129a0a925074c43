package api

import (
	"context"
	"runtime/debug"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"kz/broker/admin"
	"kz/broker/commitlog"
	"kz/broker/config"
	"kz/broker/metadata"
	"kz/broker/network"
	"kz/broker/replica"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
	"kz/internal/wire"
)

// Controller is what handlers need of this broker's controller.
type Controller interface {
	// IsActive says whether this broker is the controller now.
	IsActive() bool
	// BrokerEpoch is this broker's epoch: older control requests are stale.
	BrokerEpoch() int64
	// ControlledShutdown moves leadership away from a broker that wants to stop and says
	// what it still leads. It blocks; ctx ends it.
	ControlledShutdown(ctx context.Context, brokerID int32, brokerEpoch int64) (remaining []topic.Partition, err error)
}

// Replicas is the part of *replica.Manager that handlers use.
type Replicas interface {
	BecomeLeaderOrFollower(controllerID, controllerEpoch int32, states map[topic.Partition]replica.LeaderState) (map[topic.Partition]kafkaerr.Code, kafkaerr.Code)
	StopReplicas(controllerID, controllerEpoch int32, states map[topic.Partition]replica.StopState) (map[topic.Partition]kafkaerr.Code, kafkaerr.Code)
	UpdateMetadata(u metadata.Update) (deleted []topic.Partition, code kafkaerr.Code)
	AppendRecords(timeout time.Duration, acks int16, internalTopicsAllowed bool, records map[topic.Partition][]byte, respond func(map[topic.Partition]replica.ProduceResult))
	FetchIn(x *replica.FetchContext, p replica.FetchParams, respond func([]replica.FetchResult))
	ListOffset(q replica.OffsetQuery) (commitlog.TimestampOffset, error)
	EpochEnd(p topic.Partition, currentLeaderEpoch, epoch int32) (largest int32, end int64, code kafkaerr.Code)
}

var _ Replicas = (*replica.Manager)(nil)

// Deps are the rooms behind the handlers.
type Deps struct {
	Config     *config.Config
	Requests   <-chan *network.Request // network.Server's
	Replicas   Replicas
	Groups     Groups
	Offsets    Offsets // in ZooKeeper
	Sessions   *replica.FetchSessionCache
	Metadata   *metadata.Cache
	Admin      *admin.Manager
	Configs    *admin.Configs
	Controller Controller
	ClusterID  string
	Log        zerolog.Logger
}

// API is the pool of handlers.
type API struct {
	d      Deps
	ctx    context.Context // ends on Stop
	cancel context.CancelFunc
	pool   sync.WaitGroup // the handler goroutines
	waits  sync.WaitGroup // goroutines of handlers that wait
}

// New needs Start.
func New(d Deps) *API {
	ctx, cancel := context.WithCancel(context.Background())
	return &API{d: d, ctx: ctx, cancel: cancel}
}

// Start runs num.io.threads handlers until the channel of requests is closed.
func (a *API) Start() {
	for range max(1, a.d.Config.NumIoThreads) {
		a.pool.Go(func() {
			for r := range a.d.Requests {
				a.serve(newCall(r, r.Header, r.Body, r.Listener, r.ClientHost))
			}
		})
	}
}

// Stop waits until every request taken has been handled and answers those that wait
// here. Call it after the channel of requests was closed (network's StopReading); who
// waits in another room is answered when that room stops.
func (a *API) Stop() {
	a.pool.Wait()
	a.cancel()
	a.waits.Wait()
}

// handlers is the table of what is served; a test holds it against wire.Served.
var handlers = map[int16]func(*API, *call){
	keyProduce:              (*API).produce,
	keyFetch:                (*API).fetch,
	keyListOffsets:          (*API).listOffsets,
	keyMetadata:             (*API).metadata,
	keyLeaderAndISR:         (*API).leaderAndISR,
	keyStopReplica:          (*API).stopReplica,
	keyUpdateMetadata:       (*API).updateMetadata,
	keyControlledShutdown:   (*API).controlledShutdown,
	keyOffsetCommit:         (*API).offsetCommit,
	keyOffsetFetch:          (*API).offsetFetch,
	keyFindCoordinator:      (*API).findCoordinator,
	keyJoinGroup:            (*API).joinGroup,
	keyHeartbeat:            (*API).heartbeat,
	keyLeaveGroup:           (*API).leaveGroup,
	keySyncGroup:            (*API).syncGroup,
	keyDescribeGroups:       (*API).describeGroups,
	keyListGroups:           (*API).listGroups,
	keySaslHandshake:        (*API).saslHandshake,
	keyAPIVersions:          (*API).apiVersions,
	keyCreateTopics:         (*API).createTopics,
	keyOffsetForLeaderEpoch: (*API).offsetForLeaderEpoch,
	keyDescribeConfigs:      (*API).describeConfigs,
	keySaslAuthenticate:     (*API).saslAuthenticate,
	keyCreatePartitions:     (*API).createPartitions,
	keyDeleteGroups:         (*API).deleteGroups,
	keyOffsetDelete:         (*API).offsetDelete,
	keyDescribeCluster:      (*API).describeCluster,
}

// serve runs one request's handler. A panic in it is a bug of ours, and ends that
// connection only.
func (a *API) serve(c *call) {
	defer func() {
		if p := recover(); p != nil {
			a.d.Log.Error().Interface("panic", p).Str("api", wire.APIName(c.header.Key)).Int16("version", c.header.Version).
				Str("client", c.clientHost).Bytes("stack", debug.Stack()).Msg("handler panicked, its connection is closed")
			c.close("internal error")
		}
	}()
	row, served := wire.Lookup(c.header.Key)
	switch handle := handlers[c.header.Key]; {
	case !served || handle == nil:
		c.close("api " + wire.APIName(c.header.Key) + " is not served")
	case !row.Contains(c.header.Version) && c.header.Key != keyAPIVersions:
		c.close("version of " + wire.APIName(c.header.Key) + " is not served")
	default:
		handle(a, c)
	}
}
