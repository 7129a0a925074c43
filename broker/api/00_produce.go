package api

import (
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/broker/replica"
	"kz/internal/kafkaerr"
	"kz/internal/record"
	"kz/internal/topic"
)

// Produce, versions 3 to 9. docs/formats/produce.md draws it to the byte.
//
// Left out: versions 0 to 2 (record formats 0 and 1); quotas. Idempotent and
// transactional batches are refused by the log, with UNSUPPORTED_FOR_MESSAGE_FORMAT.

// adminClient is the client id that may write to the brokers' own topics.
const adminClient = "__admin_client"

func (a *API) produce(c *call) {
	var req kmsg.ProduceRequest
	if !c.decode(&req) {
		return
	}
	if err := checkWhole(&req); err != nil {
		a.produced(c, &req, refuseAll(&req, err))
		return
	}
	results := map[topic.Partition]replica.ProduceResult{} // of those refused here
	records := make(map[topic.Partition][]byte, 8)
	s := a.d.Metadata.Current()
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			id := topic.Partition{Topic: t.Topic, Partition: p.Partition}
			if _, ok := s.Partition(id); !ok {
				results[id] = refused(kafkaerr.UnknownTopicOrPartition, "")
			} else if err := checkBatches(p.Records, req.Version); err != nil {
				results[id] = refused(kafkaerr.CodeOf(err), "")
			} else {
				records[id] = p.Records
			}
		}
	}
	if len(records) == 0 {
		a.produced(c, &req, results)
		return
	}
	respond := func(appended map[topic.Partition]replica.ProduceResult) {
		for id, r := range results { // what was refused counts when a partition came twice
			appended[id] = r
		}
		a.produced(c, &req, appended)
	}
	a.d.Replicas.AppendRecords(time.Duration(req.TimeoutMillis)*time.Millisecond, req.Acks, c.header.ClientID == adminClient, records, respond)
	c.detach() // a produce that waits for its replicas holds no record bytes
}

// refused is the result of a partition that never came to the log.
func refused(code kafkaerr.Code, message string) replica.ProduceResult {
	return replica.ProduceResult{Code: code, Message: message, BaseOffset: -1, LogAppendTime: -1, LogStartOffset: -1}
}

// refuseAll answers every partition with the error.
func refuseAll(req *kmsg.ProduceRequest, err error) map[topic.Partition]replica.ProduceResult {
	out := map[topic.Partition]replica.ProduceResult{}
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			out[topic.Partition{Topic: t.Topic, Partition: p.Partition}] = refused(kafkaerr.CodeOf(err), kafkaerr.MessageOf(err))
		}
	}
	return out
}

// checkWhole looks at the first batch of every partition for what fails the request as
// a whole: damage, and a transaction that has no name. Mirrors
// RequestUtils.hasTransactionalRecords.
func checkWhole(req *kmsg.ProduceRequest) error {
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			if p.Records == nil {
				return kafkaerr.Wrap(kafkaerr.UnknownServerError, "produce of null records", nil)
			}
			b, _, err := record.Next(p.Records)
			switch {
			case kafkaerr.CodeOf(err) == kafkaerr.CorruptMessage:
				return err
			case err == nil && b.IsTransactional() && req.TransactionID == nil:
				return kafkaerr.Wrap(kafkaerr.TransactionalIDAuthorizationFailed, "transactional batch without transactional id", nil)
			}
		}
	}
	return nil
}

// checkBatches: from version 3 on, exactly one batch of magic 2, and zstd only from
// version 7 on. A partial tail is passed over, as Kafka does. Mirrors
// ProduceRequest.validateRecords.
func checkBatches(b []byte, version int16) error {
	first, rest, err := record.Next(b)
	switch {
	case errors.Is(err, record.ErrPartial):
		return kafkaerr.Wrap(kafkaerr.InvalidRecord, "no whole batch", nil)
	case kafkaerr.CodeOf(err) == kafkaerr.CorruptMessage:
		return err
	case err != nil:
		return kafkaerr.Wrap(kafkaerr.InvalidRecord, "magic below 2", err)
	case first.Codec() == record.Zstd && version < 7:
		return kafkaerr.Wrap(kafkaerr.UnsupportedCompressionType, "zstd before version 7", nil)
	}
	switch _, _, err := record.Next(rest); {
	case errors.Is(err, record.ErrPartial):
		return nil
	case kafkaerr.CodeOf(err) == kafkaerr.CorruptMessage:
		return err
	}
	return kafkaerr.Wrap(kafkaerr.InvalidRecord, "more than one batch", nil)
}

// produced answers: with acks=0 nothing when all went well, and the end of the
// connection when not, so that the client looks for the leader anew.
func (a *API) produced(c *call, req *kmsg.ProduceRequest, results map[topic.Partition]replica.ProduceResult) {
	if req.Acks == 0 {
		for id, r := range results {
			if r.Code != kafkaerr.None {
				c.close("produce with acks=0 to " + id.String() + " failed: " + r.Code.Name())
				return
			}
		}
		c.silent()
		return
	}
	c.respond(produceResponse(req, results))
}

// produceResponse puts the results in the request's order. A partition that came twice
// is answered once; a topic of no partitions is left out.
func produceResponse(req *kmsg.ProduceRequest, results map[topic.Partition]replica.ProduceResult) *kmsg.ProduceResponse {
	resp := kmsg.NewPtrProduceResponse()
	resp.Topics = make([]kmsg.ProduceResponseTopic, 0, len(req.Topics))
	for _, t := range req.Topics {
		rt := kmsg.NewProduceResponseTopic()
		rt.Topic = t.Topic
		rt.Partitions = make([]kmsg.ProduceResponseTopicPartition, 0, len(t.Partitions))
		for _, p := range t.Partitions {
			id := topic.Partition{Topic: t.Topic, Partition: p.Partition}
			r, ok := results[id]
			if !ok {
				continue
			}
			delete(results, id)
			rt.Partitions = append(rt.Partitions, producePartition(p.Partition, r))
		}
		if len(rt.Partitions) > 0 {
			resp.Topics = append(resp.Topics, rt)
		}
	}
	return resp
}

func producePartition(n int32, r replica.ProduceResult) kmsg.ProduceResponseTopicPartition {
	rp := kmsg.NewProduceResponseTopicPartition()
	rp.Partition = n
	rp.ErrorCode = int16(r.Code)
	rp.BaseOffset, rp.LogAppendTime, rp.LogStartOffset = r.BaseOffset, r.LogAppendTime, r.LogStartOffset
	if r.Message != "" {
		rp.ErrorMessage = &r.Message
	}
	for _, e := range r.RecordErrors {
		re := kmsg.NewProduceResponseTopicPartitionErrorRecord()
		re.RelativeOffset = e.BatchIndex
		if e.Message != "" {
			re.ErrorMessage = &e.Message
		}
		rp.ErrorRecords = append(rp.ErrorRecords, re)
	}
	return rp
}
