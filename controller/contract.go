// Package controller is Kafka's controller on ZooKeeper. It imports no room of the broker.
package controller

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"kz/internal/journal"
	"kz/internal/link"
	"kz/internal/topic"
	"kz/internal/zk"
)

// Config is the controller's part of server.properties.
type Config struct {
	BrokerID               int32
	InterBrokerListener    string        // and control.plane.listener.name when set
	SocketTimeout          time.Duration // controller.socket.timeout.ms
	RequestTimeout         time.Duration
	AutoRebalance          bool // auto.leader.rebalance.enable
	ImbalanceCheckInterval time.Duration
	ImbalancePercentage    int
	UncleanElection        bool // broker default
	DeleteTopicEnable      bool
}

// Controller is Kafka's KafkaController.
type Controller struct{}

// New needs register: (re-)creates /brokers/ids/<id> after a new session and returns the new broker epoch. It runs on the controller's goroutine.
func New(cfg Config, c *zk.Client, n link.Network, register func(context.Context) (epoch int64, err error), j *journal.Journal, log zerolog.Logger) *Controller {
	panic("contract")
}

// Start enqueues Startup (3.1) and returns. Stop resigns without deleting /controller.
func (c *Controller) Start() { panic("contract") }
func (c *Controller) Stop()  { panic("contract") }

// IsActive says whether this broker is the controller now.
func (c *Controller) IsActive() bool { panic("contract") }

// ID is the broker id in /controller as last read, -1 none.
func (c *Controller) ID() int32 { panic("contract") }

// BrokerEpoch is this broker's current epoch (czxid of its registration).
func (c *Controller) BrokerEpoch() int64     { panic("contract") }
func (c *Controller) SetBrokerEpoch(e int64) { panic("contract") } // after the first registration

// ControlledShutdown answers the request of that name: partitions the broker still leads. Errors carry Kafka's codes.
func (c *Controller) ControlledShutdown(ctx context.Context, brokerID int32, brokerEpoch int64) (remaining []topic.Partition, err error) {
	panic("contract")
}

// EnableUncleanElection enqueues an election after unclean.leader.election.enable became true (topic, or "" for the broker default).
func (c *Controller) EnableUncleanElection(topic string) { panic("contract") }
