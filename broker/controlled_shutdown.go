package broker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"kz/controller"
	"kz/internal/zk"
	"kz/zkpaths"
)

// controlledShutdown asks the controller to move leadership away from this broker before
// it stops, at most controlled.shutdown.max.retries times in all. It reports whether
// that succeeded: no error, and no partition left. Mirrors KafkaServer.controlledShutdown.
//
// The controller and its address are read anew for every attempt: it may have changed.
func (b *Broker) controlledShutdown() bool {
	b.log.Info().Msg("controlled shutdown begins")
	for attempt := 1; attempt <= b.cfg.ControlledShutdownMaxRetries; attempt++ {
		err := b.askToLeave()
		if err == nil {
			b.log.Info().Msg("controlled shutdown succeeded")
			return true
		}
		last := attempt == b.cfg.ControlledShutdownMaxRetries || errors.Is(err, errNoZooKeeper)
		line := b.log.Warn().Err(err).Int("attempt", attempt).Int("of", b.cfg.ControlledShutdownMaxRetries)
		if last {
			line.Msg("controlled shutdown: attempt failed")
			break
		}
		line.Stringer("again-in", b.cfg.ControlledShutdownRetryBackoff).Msg("controlled shutdown: attempt failed")
		time.Sleep(b.cfg.ControlledShutdownRetryBackoff)
	}
	b.log.Warn().Msg("controlled shutdown failed: stopping anyway, leaders are elected once our session is closed")
	return false
}

// errNoZooKeeper ends the attempts: when ZooKeeper is silent for a session's length, our
// session is over wherever it still lives, and leaders are elected without our asking.
var errNoZooKeeper = errors.New("no answer from ZooKeeper")

func (b *Broker) askToLeave() error {
	ctx, cancel := context.WithTimeout(context.Background(), b.cfg.Zk.SessionTimeout)
	addr, err := b.controllerAddress(ctx)
	cancel()
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w within %v (zookeeper.session.timeout.ms)", errNoZooKeeper, b.cfg.Zk.SessionTimeout)
	}
	if err != nil {
		return err
	}
	ctx, cancel = context.WithTimeout(context.Background(), b.cfg.Controller.SocketTimeout+b.cfg.RequestTimeout)
	defer cancel()
	remaining, err := controller.AskToLeave(ctx, b.network, addr, b.ID(), b.controller.BrokerEpoch())
	if err == nil && len(remaining) > 0 {
		err = fmt.Errorf("still leading %v", remaining)
	}
	return err
}

// controllerAddress is where the controller listens for brokers, as ZooKeeper says now.
func (b *Broker) controllerAddress(ctx context.Context) (string, error) {
	data, _, err := b.zk.Get(ctx, zkpaths.Controller)
	if errors.Is(err, zk.NoNode) {
		return "", errors.New("no controller is registered")
	}
	if err != nil {
		return "", err
	}
	who, err := zkpaths.DecodeControllerInfo(data)
	if err != nil {
		return "", err
	}
	data, _, err = b.zk.Get(ctx, zkpaths.Broker(who.BrokerID))
	if errors.Is(err, zk.NoNode) {
		return "", fmt.Errorf("the controller, broker %d, is not registered: its session has expired", who.BrokerID)
	}
	if err != nil {
		return "", err
	}
	info, err := zkpaths.DecodeBrokerInfo(data)
	if err != nil {
		return "", err
	}
	for _, e := range info.Endpoints {
		if e.Listener == b.cfg.InterBrokerListener {
			return net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port))), nil
		}
	}
	return "", fmt.Errorf("the controller, broker %d, has no listener %s", who.BrokerID, b.cfg.InterBrokerListener)
}
