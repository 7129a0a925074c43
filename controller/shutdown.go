package controller

import (
	"fmt"

	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// unknownBrokerEpoch in a request is not checked.
const unknownBrokerEpoch int64 = -1

// shutDownBroker moves leaderships off a broker that wants to stop, and takes the broker
// out of the ISRs, while it is still there to serve until the last moment. It returns what
// the broker still leads; the broker asks again until that is nothing.
//
// Mirrors doControlledShutdown.
func (c *Controller) shutDownBroker(id int32, epoch int64) (remaining []topic.Partition, err error) {
	b, registered := c.cluster.brokers[id]
	if !registered {
		return nil, kafkaerr.Wrap(kafkaerr.BrokerNotAvailable, "controlled shutdown", fmt.Errorf("broker %d is not registered", id))
	}
	if epoch != unknownBrokerEpoch && epoch < b.epoch {
		return nil, kafkaerr.Wrap(kafkaerr.StaleBrokerEpoch, "controlled shutdown",
			fmt.Errorf("broker %d asks with epoch %d, it registered with %d", id, epoch, b.epoch))
	}
	c.log.Info().Int32("broker", id).Msg("controlled shutdown")
	c.cluster.shuttingDown[id] = true

	var led, followed []topic.Partition
	for _, r := range c.cluster.replicasOn([]int32{id}) {
		p := r.partition
		l, ok := c.cluster.leadership[p]
		if !ok || len(c.cluster.assignment(p).replicas) < 2 {
			continue // nobody else could take it
		}
		if l.leader == id {
			led = append(led, p)
		} else {
			followed = append(followed, p)
		}
	}
	if err := c.movePartitions(led, OnlinePartition, controlledShutdownElection); err != nil {
		return nil, err
	}
	stop := newBatch(c.cluster)
	rs := make([]replica, len(followed))
	for i, p := range followed {
		stop.stopReplica(id, p, false)
		rs[i] = replica{p, id}
	}
	c.send(stop)
	if err := c.moveReplicas(rs, OfflineReplica); err != nil {
		return nil, err
	}
	return c.cluster.ledBy(id), nil
}
