package controller

import (
	"testing"
	"testing/synctest"

	"kz/internal/zk"
	"kz/zkpaths"
)

// The old session's news, that /controller is gone, may arrive when the new one is open and
// the broker has not registered in it yet.
func TestNewsOfTheOldSessionElectsNobody(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		threeWithTopic(r)
		b := r.brokers[1]
		b.client.endSession()
		b.controller.beforeNewSession()
		b.controller.queue.put(reelect{})
		r.tree.mu.Lock()
		r.tree.sessions++
		b.client.session, b.client.expired = r.tree.sessions, false
		r.tree.mu.Unlock()
		synctest.Wait()
		if _, _, there := r.tree.get(zkpaths.Controller); there || b.controller.IsActive() {
			t.Error("elected before it was registered")
		}
		b.controller.afterNewSession()
		synctest.Wait()
		if !b.controller.IsActive() {
			t.Error("not elected after it was registered")
		}
	})
}

// A broker that cannot register again is no candidate, not even when /controller is free.
func TestUnregisteredBrokerDoesNotStand(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		threeWithTopic(r)
		b := r.brokers[1]
		b.client.endSession()
		r.tree.write("other", zk.CreateOp(zkpaths.Broker(1), registrationOf(1).Encode())) // somebody else has the id
		b.client.newSession()
		synctest.Wait()
		if _, _, there := r.tree.get(zkpaths.Controller); there || b.controller.IsActive() {
			t.Error("an unregistered broker became controller")
		}
		r.tree.write("other", zk.DeleteOp(zkpaths.Broker(1), zk.AnyVersion))
		b.client.endSession()
		b.client.newSession()
		synctest.Wait()
		if !b.controller.IsActive() {
			t.Error("not elected once it could register")
		}
	})
}
