package api

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/broker/replica"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// Fetch, versions 4 to 12. docs/formats/fetch.md draws it to the byte; the answer is
// written by fetch_encode.go.
//
// Left out: versions 0 to 3 (record formats 0 and 1), and so down-conversion; aborted
// transactions; a replica selector, so the preferred read replica is always -1; quotas.

func (a *API) fetch(c *call) {
	var req kmsg.FetchRequest
	if !c.decode(&req) {
		return
	}
	c.detach() // nothing of the request is needed but what was decoded
	if !isolationKnown(req.IsolationLevel) {
		c.respondParts(encodeFetch(refuseFetch(&req, kafkaerr.UnknownServerError))...)
		return
	}
	sessionID, epoch := req.SessionID, req.SessionEpoch
	if req.Version < 7 {
		sessionID, epoch = replica.NoFetchSession, replica.FinalFetchEpoch
	}
	follower := req.ReplicaID >= 0
	x := a.d.Sessions.NewContext(sessionID, epoch, fetchPartitions(&req), forgotten(&req), follower)
	if x.Code() != kafkaerr.None {
		a.fetched(c, &req, x, nil)
		return
	}
	a.refuse(x, req.MaxBytes)
	a.d.Replicas.FetchIn(x, replica.FetchParams{
		ReplicaID:     req.ReplicaID,
		MaxWait:       time.Duration(req.MaxWaitMillis) * time.Millisecond,
		MinBytes:      int(req.MinBytes),
		MaxBytes:      min(int(req.MaxBytes), a.d.Config.FetchMaxBytes),
		ReadCommitted: req.IsolationLevel == readCommitted,
		AnyReplica:    !follower && req.Version >= 11,
		ClientRack:    req.Rack,
		ClientHost:    c.clientHost,
	}, func(results []replica.FetchResult) { a.fetched(c, &req, x, results) })
}

// readCommitted is the isolation level that sees no open and no aborted transaction;
// the only other one, 0, sees everything.
const readCommitted = 1

func isolationKnown(level int8) bool { return level == 0 || level == readCommitted }

// refuseFetch answers every partition named, and the request itself, with a code.
func refuseFetch(req *kmsg.FetchRequest, code kafkaerr.Code) fetchAnswer {
	a := fetchAnswer{version: req.Version, code: code, session: req.SessionID}
	for _, p := range fetchPartitions(req) {
		a.results = append(a.results, replica.FailedFetch(p.Partition, code))
	}
	return a
}

func fetchPartitions(req *kmsg.FetchRequest) []replica.FetchPartition {
	var out []replica.FetchPartition
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			out = append(out, replica.FetchPartition{
				Partition:          topic.Partition{Topic: t.Topic, Partition: p.Partition},
				Offset:             p.FetchOffset,
				LogStartOffset:     p.LogStartOffset,
				MaxBytes:           int(p.PartitionMaxBytes),
				CurrentLeaderEpoch: max(p.CurrentLeaderEpoch, -1), // any negative one is none
				LastFetchedEpoch:   max(p.LastFetchedEpoch, -1),
			})
		}
	}
	return out
}

func forgotten(req *kmsg.FetchRequest) []topic.Partition {
	var out []topic.Partition
	for _, t := range req.ForgottenTopics {
		for _, p := range t.Partitions {
			out = append(out, topic.Partition{Topic: t.Topic, Partition: p})
		}
	}
	return out
}

// refuse takes out what cannot be fetched: partitions the cluster does not know, and
// negative limits, on which Kafka stumbles.
func (a *API) refuse(x *replica.FetchContext, maxBytes int32) {
	if maxBytes < 0 {
		x.VisitAll()
	}
	x.Refuse(func(p *replica.FetchPartition) kafkaerr.Code {
		switch _, known := a.d.Metadata.Current().Partition(p.Partition); {
		case !known:
			return kafkaerr.UnknownTopicOrPartition
		case maxBytes < 0 || p.MaxBytes < 0:
			return kafkaerr.UnknownServerError
		}
		return kafkaerr.None
	})
}

// fetched answers with what the session lets through.
func (a *API) fetched(c *call, req *kmsg.FetchRequest, x *replica.FetchContext, results []replica.FetchResult) {
	for i := range results {
		a.forOldClient(&results[i], req.Version)
	}
	session, code, answer := x.Finish(results)
	c.respondParts(encodeFetch(fetchAnswer{
		version:       req.Version,
		code:          code,
		session:       session,
		readCommitted: req.ReplicaID < 0 && req.IsolationLevel == readCommitted,
		results:       answer,
	})...)
}

// forOldClient replaces what a client of that version would not understand.
func (a *API) forOldClient(r *replica.FetchResult, version int16) {
	if version <= 5 && r.Code == kafkaerr.KafkaStorageError {
		r.Code = kafkaerr.NotLeaderOrFollower
	}
	if version < 10 && r.Code == kafkaerr.None && a.d.Configs.TopicConfig(r.Partition.Topic).CompressionType == "zstd" {
		r.Release()
		*r = replica.FailedFetch(r.Partition, kafkaerr.UnsupportedCompressionType)
	}
}
