// Package admin asks a cluster to change or describe itself: topics, partitions,
// configs, brokers, consumer groups and their offsets.
//
//	what comes in   plain values: a topic to create, names to describe
//	what goes out   plain values, or an *Error whose text is what Kafka's own tools print
//	who runs it     the caller's goroutine
//
// The one rule: a call is repeated only while its failure is retriable by Kafka's
// table, and never past default.api.timeout.ms. A request that was sent and not
// answered may have been carried out: creating a topic a second time then answers
// TOPIC_ALREADY_EXISTS, as with Kafka's own client.
//
// Mirrors org.apache.kafka.clients.admin.KafkaAdminClient.
package admin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/client"
	"kz/internal/kafkaerr"
)

// Admin is an admin client. It is safe for concurrent use.
type Admin struct{ c *client.Client }

// New makes an admin client on its own connections.
func New(cfg client.Config) *Admin { return &Admin{c: client.New(cfg)} }

// Client is the client underneath.
func (a *Admin) Client() *client.Client { return a.c }

// Close ends it.
func (a *Admin) Close() { a.c.Close() }

// Error is a refusal or a timeout, with the text Kafka's tools print.
type Error struct {
	Code kafkaerr.Code
	Text string
}

func (e *Error) Error() string { return e.Text }

// Unwrap lets errors.Is find the code.
func (e *Error) Unwrap() error { return e.Code }

// text is what Java's exception says when the broker sends no message of its own.
// Source: clients/src/main/java/org/apache/kafka/common/protocol/Errors.java.
var text = map[kafkaerr.Code]string{
	kafkaerr.UnknownServerError:       "The server experienced an unexpected error when processing the request.",
	kafkaerr.UnknownTopicOrPartition:  "This server does not host this topic-partition.",
	kafkaerr.LeaderNotAvailable:       "There is no leader for this topic-partition as we are in the middle of a leadership election.",
	kafkaerr.RequestTimedOut:          "The request timed out.",
	kafkaerr.NotController:            "This is not the correct controller for this cluster.",
	kafkaerr.InvalidTopicException:    "The request attempted to perform an operation on an invalid topic.",
	kafkaerr.TopicAlreadyExists:       "Topic with this name already exists.",
	kafkaerr.InvalidPartitions:        "Number of partitions is below 1.",
	kafkaerr.InvalidReplicationFactor: "Replication factor is below 1 or larger than the number of available brokers.",
	kafkaerr.InvalidReplicaAssignment: "Replica assignment is invalid.",
	kafkaerr.InvalidConfig:            "Configuration is invalid.",
	kafkaerr.InvalidRequest:           "This most likely occurs because of a request being malformed by the client library or the message was sent to an incompatible broker. See the broker logs for more details.",
	kafkaerr.PolicyViolation:          "Request parameters do not satisfy the configured policy.",
	kafkaerr.UnsupportedVersion:       "The version of API is not supported.",
	kafkaerr.ReassignmentInProgress:   "A partition reassignment is in progress.",
	kafkaerr.BrokerNotAvailable:       "The broker is not available.",
}

// refusal makes an Error of an answer's code and message, or nil.
func refusal(code int16, message *string) error {
	c := kafkaerr.Code(code)
	if c == kafkaerr.None {
		return nil
	}
	e := &Error{Code: c, Text: text[c]}
	if message != nil && *message != "" {
		e.Text = *message
	}
	if e.Text == "" {
		e.Text = groupText[c]
	}
	if e.Text == "" {
		e.Text = c.Name()
	}
	return e
}

// call repeats try until it succeeds, fails for good, or time is up. name is Kafka's
// name of the call, for the message of the timeout.
func (a *Admin) call(ctx context.Context, name string, try func(ctx context.Context, attempt int) error) error {
	ctx, cancel, deadline := a.c.Deadline(ctx)
	defer cancel()
	var refused *Error // the brokers' last word, which says more than "timed out", whatever attempt it ended
	for attempt := 0; ; attempt++ {
		err := try(ctx, attempt)
		if err == nil {
			return nil
		}
		errors.As(err, &refused)
		if ctx.Err() == nil && !client.Retriable(err) {
			var known *Error
			if errors.As(err, &known) {
				return known
			}
			return &Error{Code: kafkaerr.CodeOf(err), Text: message(err)}
		}
		if ctx.Err() != nil || a.c.Backoff(ctx) != nil {
			if refused != nil && refused.Code != kafkaerr.NotController {
				return refused
			}
			now := time.Now()
			return &Error{Code: kafkaerr.RequestTimedOut, Text: fmt.Sprintf(
				"Call(callName=%s, deadlineMs=%d, tries=%d, nextAllowedTryMs=%d) timed out at %d after %d attempt(s)",
				name, deadline.UnixMilli(), attempt+1, now.Add(a.c.Config().RetryBackoff).UnixMilli(), now.UnixMilli(), attempt+1)}
		}
	}
}

func message(err error) string {
	if m := kafkaerr.MessageOf(err); m != "" {
		return m
	}
	return err.Error()
}

// controller sends req to the controller; a broker that is no longer it is not asked twice.
func (a *Admin) controller(ctx context.Context, req kmsg.Request, attempt int) (kmsg.Response, error) {
	return a.c.Controller(ctx, req, attempt > 0)
}

// timeoutMs is what the broker may spend: a little less than request.timeout.ms, so that
// its word is here before the connection is given up.
func (a *Admin) timeoutMs() int32 {
	d := a.c.Config().RequestTimeout
	return int32((d - min(d/10, time.Second)).Milliseconds())
}
