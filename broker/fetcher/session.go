package fetcher

import (
	"fmt"

	"kz/broker/replica"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// session is our side of a fetch session (KIP-227): what the leader remembers, so that
// only changes need be said. Mirrors FetchSessionHandler. One goroutine uses it.
//
//	(0, 0)    full fetch ──ok, id──▶ (id, 1) ──ok──▶ (id, 2) ──ok──▶ …
//	   ▲                                │
//	   │ the leader forgot id           │ anything else went wrong: (id, 0), a full
//	   └────────────────────────────────┘ fetch that also drops the old session
type session struct {
	id, epoch int32
	parts     map[topic.Partition]fetchTerms // as the leader remembers, if epoch > 0
}

// fetchRequest is one fetch as it goes out.
type fetchRequest struct {
	sessionID, epoch int32
	send             []wanted          // all partitions, or the changed ones
	forget           []topic.Partition // no longer wanted
}

// full says whether the request names every partition.
func (r fetchRequest) full() bool {
	return r.epoch == replica.InitialFetchEpoch || r.epoch == replica.FinalFetchEpoch
}

// full says whether the next request must name every partition.
func (s *session) full() bool { return fetchRequest{epoch: s.epoch}.full() }

// build makes the request, and takes it for what the leader will remember. want may be
// fetched now and not may not. For a full fetch want is everything; else both need only
// have what changed since the last request.
func (s *session) build(want []wanted, not []topic.Partition) fetchRequest {
	req := fetchRequest{sessionID: s.id, epoch: s.epoch}
	if req.full() {
		s.parts = make(map[topic.Partition]fetchTerms, len(want))
		for _, w := range want {
			s.parts[w.id] = w.fetchTerms
		}
		req.send = want
		return req
	}
	var changed []wanted
	for _, w := range want {
		old, known := s.parts[w.id]
		switch {
		case !known:
			req.send = append(req.send, w)
		case old != w.fetchTerms:
			changed = append(changed, w)
		}
		s.parts[w.id] = w.fetchTerms
	}
	req.send = append(req.send, changed...)
	for _, id := range not {
		if _, known := s.parts[id]; known {
			delete(s.parts, id)
			req.forget = append(req.forget, id)
		}
	}
	return req
}

// answered takes the answer's session part. An error means that the rest of the answer
// must not be used.
func (s *session) answered(req fetchRequest, a *fetchAnswer) error {
	switch {
	case a.code == kafkaerr.FetchSessionIDNotFound:
		s.id, s.epoch = replica.NoFetchSession, replica.InitialFetchEpoch
		return a.code
	case a.code != kafkaerr.None:
		s.epoch = replica.InitialFetchEpoch // keeps the id: the next request drops the session
		return a.code
	}
	for i := range a.parts {
		if _, ok := s.parts[a.parts[i].id]; !ok {
			s.epoch = replica.InitialFetchEpoch
			return fmt.Errorf("the answer has %v, which was not asked for", a.parts[i].id)
		}
	}
	if req.full() && len(a.parts) != len(s.parts) {
		s.id, s.epoch = replica.NoFetchSession, replica.InitialFetchEpoch
		return fmt.Errorf("the answer has %d of %d partitions", len(a.parts), len(s.parts))
	}
	switch {
	case a.sessionID == replica.NoFetchSession: // the leader has no room, or closed it
		s.id, s.epoch = replica.NoFetchSession, replica.InitialFetchEpoch
	case req.full():
		s.id, s.epoch = a.sessionID, replica.NextFetchEpoch(replica.InitialFetchEpoch)
	default:
		s.epoch = replica.NextFetchEpoch(s.epoch)
	}
	return nil
}

// lost is what to do when no answer came: the leader may or may not have counted the
// request, so the session ends with the next one.
func (s *session) lost() { s.epoch = replica.InitialFetchEpoch }
