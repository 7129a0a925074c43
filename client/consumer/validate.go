package consumer

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/client"
	"kz/internal/kafkaerr"
	"kz/internal/topic"
)

// ErrTruncated says that records which were read are gone from the log, and that
// auto.offset.reset is none, so that nobody but the caller may decide where to go on.
var ErrTruncated = errors.New("the log was truncated below the position")

func needsCheck(parts []position) bool {
	for _, p := range parts {
		if p.check {
			return true
		}
	}
	return false
}

// verdict says what a leader's answer "epoch e of mine ends at end" means for somebody
// who has read up to offset, the last of it in epoch. ok: go on. Else what was read from
// where to on is gone; to is -1 when the leader knows no common epoch.
// Mirrors SubscriptionState.maybeCompleteValidation.
func verdict(offset int64, epoch int32, answered int32, end int64) (to int64, ok bool) {
	switch {
	case answered < 0 || end < 0:
		return -1, false
	case end < offset:
		return end, false
	}
	return offset, true
}

// validate asks a new leader whether it has what we read (KIP-320). A leader that was
// elected out of turn may not: reading on at our offset would skip what it has
// written there since.
func (f *fetcher) validate(conn *client.Conn, parts []position) error {
	req := kmsg.NewPtrOffsetForLeaderEpochRequest()
	req.ReplicaID = -1
	asked := map[topic.Partition]position{}
	for _, p := range parts {
		switch {
		case !p.check:
			continue
		case p.epoch < 0 || !conn.Supports(kmsg.OffsetForLeaderEpoch):
			f.set(p, func(pos *position) { pos.check = false })
			continue
		}
		asked[p.part] = p
		rp := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
		rp.Partition, rp.CurrentLeaderEpoch, rp.LeaderEpoch = p.part.Partition, p.leaderEpoch, p.epoch
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != p.part.Topic {
			t := kmsg.NewOffsetForLeaderEpochRequestTopic()
			t.Topic = p.part.Topic
			req.Topics = append(req.Topics, t)
		}
		t := &req.Topics[len(req.Topics)-1]
		t.Partitions = append(t.Partitions, rp)
	}
	if len(req.Topics) == 0 {
		return nil
	}
	resp, err := f.ask(conn, req)
	if err != nil {
		return err
	}
	for _, t := range resp.(*kmsg.OffsetForLeaderEpochResponse).Topics {
		for _, p := range t.Partitions {
			tp := topic.Partition{Topic: t.Topic, Partition: p.Partition}
			f.validated(asked[tp], p)
			delete(asked, tp)
		}
	}
	if len(asked) > 0 {
		return errUnanswered
	}
	return nil
}

func (f *fetcher) validated(p position, a kmsg.OffsetForLeaderEpochResponseTopicPartition) {
	if code := kafkaerr.Code(a.ErrorCode); code != kafkaerr.None {
		f.refused(p, code)
		return
	}
	to, ok := verdict(p.consumed, p.epoch, a.LeaderEpoch, a.EndOffset)
	switch {
	case ok: // what was fetched ahead was not asked about: it is fetched again
		f.set(p, func(pos *position) {
			pos.version++
			pos.offset, pos.check = pos.consumed, false
		})
	case f.c.cfg.NoReset:
		f.failed(p, kafkaerr.Wrap(kafkaerr.OffsetOutOfRange, "validate "+p.part.String(), ErrTruncated))
	case to < 0:
		f.set(p, func(pos *position) { pos.jump(f.c.cfg.reset(), -1) })
	default:
		f.set(p, func(pos *position) {
			pos.jump(to, a.LeaderEpoch)
			pos.check = false
		})
	}
}
