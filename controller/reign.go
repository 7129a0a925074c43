package controller

import (
	"errors"
	"fmt"
	"time"

	"kz/internal/journal"
	"kz/internal/zk"
	"kz/zkpaths"
)

const controllerPath = zkpaths.Controller

// startUp watches /controller and stands for election.
func (c *Controller) startUp() error {
	if err := c.watchController(); err != nil {
		return err
	}
	return c.standForElection()
}

// watchController registers for /controller and arms the watch. Every broker does.
func (c *Controller) watchController() error {
	c.zk.RegisterData(controllerPath, func(t zk.EventType) {
		switch t {
		case zk.Created, zk.DataChanged:
			c.queue.put(controllerChange{})
		default: // deleted, or perhaps deleted while we were not connected
			c.queue.put(reelect{})
		}
	})
	_, err := c.do(zk.ExistsOp(controllerPath))
	return err
}

// readController is the id in /controller, noLeader when there is none.
func (c *Controller) readController() (int32, error) {
	r, err := c.do1(zk.GetOp(controllerPath))
	if errors.Is(err, zk.NoNode) {
		return noLeader, nil
	}
	if err != nil {
		return noLeader, fmt.Errorf("reading %s: %w", controllerPath, err)
	}
	info, err := zkpaths.DecodeControllerInfo(r.Data)
	if err != nil {
		c.log.Error().Err(err).Str("path", controllerPath).Msg("znode cannot be understood; taken for nobody")
		return noLeader, nil
	}
	return info.BrokerID, nil
}

// lookWhoReigns reads /controller and remembers the answer.
//
// It may name us although we do not reign: a claim whose outcome we never learned, or a
// node of our session before this one that ZooKeeper has not removed yet. Kafka then takes
// itself for the controller without ever having taken over; we give the node up, and
// somebody is elected properly.
func (c *Controller) lookWhoReigns() (int32, error) {
	id, err := c.readController()
	if err != nil {
		return noLeader, err
	}
	if id == c.cfg.BrokerID && c.cluster.epoch == 0 {
		c.log.Warn().Str("path", controllerPath).Msg("znode names this broker, which does not reign; giving it up")
		_, version, err := c.readEpoch()
		if err != nil {
			return noLeader, err
		}
		if err := c.vacate(version); err != nil {
			return noLeader, err
		}
		id = noLeader
	}
	c.activeID.Store(id)
	return id, nil
}

// vacate deletes /controller, fenced. That somebody else was faster is fine.
func (c *Controller) vacate(epochVersion int32) error {
	_, err := c.do1(zk.DeleteOp(controllerPath, zk.AnyVersion).Fenced(epochVersion))
	if err != nil && !errors.Is(err, zk.ErrControllerMoved) && !errors.Is(err, zk.NoNode) {
		return fmt.Errorf("deleting %s: %w", controllerPath, err)
	}
	return nil
}

// standForElection becomes controller if there is none. A failure on the way in, whatever
// it is, gives the office up again: better another controller than one that is half there.
//
// Mirrors elect.
func (c *Controller) standForElection() error {
	id, err := c.lookWhoReigns()
	if err != nil || id != noLeader || c.unregistered {
		return err
	}
	err = c.takeOffice()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, zk.ErrControllerMoved):
		return c.maybeResign()
	default:
		c.log.Error().Err(err).Msg("could not become controller; making way for another")
		return c.forceResign()
	}
}

// takeOffice wins the election and takes over.
func (c *Controller) takeOffice() error {
	epoch, version, err := c.claim()
	if err != nil {
		return err
	}
	c.cluster.epoch, c.cluster.epochVersion = epoch, version
	c.activeID.Store(c.cfg.BrokerID)
	c.log.Info().Int32("epoch", epoch).Int32("epochVersion", version).Msg("elected controller")
	if c.journal.On() {
		c.journal.Emit(journal.Event{
			Kind: journal.ControllerOn, Source: source, ControllerEpoch: epoch, VersionAfter: version,
			Leader: c.cfg.BrokerID, Text: fmt.Sprintf("broker %d is controller, epoch %d", c.cfg.BrokerID, epoch),
		})
	}
	c.journal.At(journal.MomentControllerElected, fmt.Sprintf("epoch %d", epoch))
	return c.failover()
}

// claim creates /controller and raises /controller_epoch in one transaction, so that no two
// reigns have the same epoch. It returns the epoch and the version of its znode, which
// fences every later write.
//
// Mirrors registerControllerAndIncrementControllerEpoch.
func (c *Controller) claim() (epoch, version int32, err error) {
	epoch, version, err = c.readEpoch()
	if err != nil {
		return 0, 0, err
	}
	epoch++
	me := zkpaths.ControllerInfo{BrokerID: c.cfg.BrokerID, Timestamp: time.Now().UnixMilli()}
	create := zk.CreateOp(controllerPath, me.Encode())
	create.Ephemeral = true
	_, err = c.zk.Multi(c.life, create, zk.SetOp(zkpaths.ControllerEpoch, zkpaths.EncodeControllerEpoch(epoch), version))
	switch {
	case err == nil:
		return epoch, version + 1, nil
	case errors.Is(err, zk.NodeExists), errors.Is(err, zk.BadVersion):
		return c.didIWin(epoch)
	default:
		return 0, 0, fmt.Errorf("creating %s: %w", controllerPath, err)
	}
}

// didIWin finds out whether a refused claim was the echo of our own: /controller names us
// and the epoch is the one we wanted. Any later election would have made it larger.
func (c *Controller) didIWin(wanted int32) (epoch, version int32, err error) {
	id, err := c.readController()
	if err != nil {
		return 0, 0, err
	}
	if id == c.cfg.BrokerID {
		epoch, version, err = c.readEpoch()
		if err != nil {
			return 0, 0, err
		}
		if epoch == wanted {
			return epoch, version, nil
		}
	}
	return 0, 0, zk.ErrControllerMoved
}

// readEpoch reads /controller_epoch; the very first candidate of a cluster creates it.
func (c *Controller) readEpoch() (epoch, version int32, err error) {
	for range 2 {
		r, err := c.do1(zk.GetOp(zkpaths.ControllerEpoch))
		if err == nil {
			if epoch, err = zkpaths.DecodeControllerEpoch(r.Data); err != nil {
				err = fmt.Errorf("%w; write a number there that is not below any controller_epoch of a partition's state, and restart a broker: nobody stands for election by himself", err)
			}
			return epoch, r.Stat.Version, err
		}
		if !errors.Is(err, zk.NoNode) {
			return 0, 0, fmt.Errorf("reading %s: %w", zkpaths.ControllerEpoch, err)
		}
		_, err = c.do1(zk.CreateOp(zkpaths.ControllerEpoch, zkpaths.EncodeControllerEpoch(0)))
		if err == nil {
			return 0, 0, nil
		}
		if !errors.Is(err, zk.NodeExists) { // somebody else was first: read what it made
			return 0, 0, fmt.Errorf("creating %s: %w", zkpaths.ControllerEpoch, err)
		}
	}
	return 0, 0, fmt.Errorf("%s comes and goes", zkpaths.ControllerEpoch)
}

// reelect looks who reigns, and stands for election when nobody does.
func (c *Controller) reelect() error {
	if err := c.maybeResign(); err != nil {
		return err
	}
	return c.standForElection()
}

// registerAndReelect begins a new session: first this broker must exist again. If it
// cannot, it stays up without being registered, as in Kafka, and does not stand for
// election: nobody could find such a controller.
func (c *Controller) registerAndReelect() error {
	epoch, err := c.register(c.life)
	if c.unregistered = err != nil; c.unregistered {
		return fmt.Errorf("registering after a new session: %w", err)
	}
	c.brokerEpoch.Store(epoch)
	return c.reelect()
}

// maybeResign reads /controller (which also arms its watch again) and resigns if somebody
// else is in it, or nobody.
func (c *Controller) maybeResign() error {
	wasActive := c.IsActive()
	if err := c.watchController(); err != nil {
		return err
	}
	if _, err := c.lookWhoReigns(); err != nil {
		return err
	}
	if wasActive && !c.IsActive() {
		c.resign()
	}
	return nil
}

// forceResign gives up the office and deletes /controller, so that somebody gets elected.
// Mirrors triggerControllerMove.
func (c *Controller) forceResign() error {
	id, err := c.lookWhoReigns()
	if err != nil {
		return err
	}
	if id != c.cfg.BrokerID {
		c.log.Warn().Int32("controller", id).Msg("the controller has already moved")
		return nil
	}
	fence := c.cluster.epochVersion
	c.activeID.Store(noLeader)
	c.resign()
	return c.vacate(fence)
}

// resign forgets everything that came with the office. It speaks to nobody: whoever comes
// next reads all from ZooKeeper. Resigning without having been elected does nothing more
// than forget. Mirrors onControllerResignation.
func (c *Controller) resign() {
	c.zk.UnregisterChild(zkpaths.ISRChangeNotification)
	c.zk.UnregisterData(zkpaths.ReassignPartitions)
	c.zk.UnregisterData(zkpaths.PreferredReplicaElection)
	c.zk.UnregisterChild(zkpaths.LogDirEventNotification)
	for id := range c.cluster.brokers {
		c.zk.UnregisterData(zkpaths.Broker(id))
	}
	if c.rebalance != nil {
		c.rebalance.Stop()
		c.rebalance = nil
	}
	c.zk.UnregisterChild(zkpaths.Topics)
	for name := range c.cluster.topics {
		c.zk.UnregisterData(zkpaths.Topic(name))
	}
	c.zk.UnregisterChild(zkpaths.DeleteTopics)
	c.zk.UnregisterChild(zkpaths.BrokerIDs)
	c.channels.removeAll()
	if c.cluster.epoch != 0 {
		c.log.Info().Int32("epoch", c.cluster.epoch).Msg("resigned as controller")
		if c.journal.On() {
			c.journal.Emit(journal.Event{
				Kind: journal.ControllerOff, Source: source, ControllerEpoch: c.cluster.epoch, Leader: c.activeID.Load(),
				Text: fmt.Sprintf("broker %d is controller no more, epoch was %d", c.cfg.BrokerID, c.cluster.epoch),
			})
		}
	}
	c.cluster = newCluster()
	c.touchedTopics.drain()
	c.touchedBrokers.drain()
	c.refused = map[string]bool{}
}
