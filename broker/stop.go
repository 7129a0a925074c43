package broker

import (
	"errors"

	"kz/internal/journal"
)

// Stop is Start backwards, after a controlled shutdown. Requests inside the broker are
// answered; the logs are flushed and marked as cleanly closed; the session is closed,
// which is when others learn that we are gone.
func (b *Broker) Stop() {
	b.stopOnce.Do(func() {
		b.log.Info().Msg("shutting down")
		if b.journal.On() {
			b.journal.Emit(journal.Event{Kind: journal.BrokerStopping, Source: "broker"})
		}
		if b.replicas != nil {
			b.replicas.Leave() // before the controller makes us followers
		}
		if b.started && b.cfg.ControlledShutdownEnable && b.Err() == nil {
			b.controlledShutdown()
		}
		b.stopRooms()
		b.log.Info().Msg("shut down completed")
	})
}

// stopRooms stops whatever was started, in the order of KafkaServer.shutdown. The
// controller resigns without deleting /controller: that goes with the session, so that
// nobody is elected while we still do anything.
func (b *Broker) stopRooms() {
	if b.changes != nil {
		b.changes.Stop()
	}
	if b.server != nil {
		b.server.StopReading() // no new request
	}
	if b.api != nil {
		b.api.Stop() // every request taken is handled, or parked
	}
	if b.admin != nil {
		b.admin.Stop() // who waits for new topics' leaders is answered
	}
	if b.groups != nil {
		b.groups.Stop() // who waits for a rebalance looks for another coordinator
	}
	if b.replicas != nil {
		b.replicas.Stop() // fetchers end; who is parked is answered; high watermarks are on disk
	}
	if b.logs != nil {
		b.logs.Stop() // flushed, marked as clean, unlocked
	}
	if b.controller != nil {
		b.controller.Stop()
	}
	if b.zk != nil {
		b.zk.Close()
	}
	if b.server != nil {
		b.server.Stop() // last, so that the answers above could leave
	}
}

// Kill ends the broker as kill -9 would: no controlled shutdown, no flush, no marker, no
// farewell to ZooKeeper, whose session times out. But it leaves no goroutine behind and
// unlocks the directories. For tests.
func (b *Broker) Kill() {
	b.stopOnce.Do(func() {
		if b.zk != nil {
			b.zk.HangUp() // nothing is written there any more
		}
		if b.logs != nil {
			b.logs.Kill() // nor here
		}
		b.stopRooms()
	})
}

// halt is called by replica when the last log directory has failed. Kafka ends the
// process on the spot; here Done tells the owner, who calls Stop.
func (b *Broker) halt(reason string) {
	b.endOnce.Do(func() {
		b.log.Error().Str("reason", reason).Msg("the broker ends")
		b.endErr = errors.New(reason)
		close(b.ended)
	})
}
