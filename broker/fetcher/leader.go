package fetcher

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/kafkaerr"
	"kz/internal/link"
	"kz/internal/topic"
	"kz/internal/wire"
)

// leader is the broker that a thread fetches from. An error means that no answer came.
type leader interface {
	epochEnds(ctx context.Context, questions []epochQuestion) ([]epochAnswer, error)
	fetch(ctx context.Context, req fetchRequest) (*fetchAnswer, error)
	listOffset(ctx context.Context, id topic.Partition, leaderEpoch int32, timestamp int64) (int64, kafkaerr.Code, error)
	close()
}

// remoteLeader reaches the leader over the network. It connects when there is something
// to ask, and again after an error. Mirrors ReplicaFetcherBlockingSend. Only the thread's
// goroutine uses it.
type remoteLeader struct {
	network  link.Network
	addr     string
	clientID string
	cfg      Config
	conn     *wire.Conn // nil: not connected
}

// do sends one request and waits, at most the socket timeout, for its answer.
func (l *remoteLeader) do(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	resp, _, err := l.exchange(ctx, req)
	return resp, err
}

func (l *remoteLeader) exchange(ctx context.Context, req kmsg.Request) (kmsg.Response, *wire.Call, error) {
	ctx, cancel := context.WithTimeout(ctx, l.cfg.SocketTimeout)
	defer cancel()
	if l.conn == nil {
		conn, err := wire.Dial(ctx, l.network, l.addr, l.clientID)
		if err != nil {
			return nil, nil, err
		}
		l.conn = conn
	}
	resp, call, err := l.conn.Exchange(ctx, req)
	if err != nil {
		l.close()
	}
	return resp, call, err
}

func (l *remoteLeader) close() {
	if l.conn != nil {
		_ = l.conn.Close() // its error is that it was closed already
		l.conn = nil
	}
}

func (l *remoteLeader) epochEnds(ctx context.Context, questions []epochQuestion) ([]epochAnswer, error) {
	resp, err := l.do(ctx, epochRequest(l.cfg.BrokerID, questions))
	if err != nil {
		return nil, err
	}
	return epochAnswers(resp.(*kmsg.OffsetForLeaderEpochResponse)), nil
}

func (l *remoteLeader) fetch(ctx context.Context, req fetchRequest) (*fetchAnswer, error) {
	resp, call, err := l.exchange(ctx, fetchMessage(l.cfg, req))
	if err != nil {
		return nil, err
	}
	a := fetchAnswerOf(resp.(*kmsg.FetchResponse))
	a.memory = call
	return a, nil
}

func (l *remoteLeader) listOffset(ctx context.Context, id topic.Partition, leaderEpoch int32, timestamp int64) (int64, kafkaerr.Code, error) {
	resp, err := l.do(ctx, offsetRequest(l.cfg.BrokerID, id, leaderEpoch, timestamp))
	if err != nil {
		return -1, kafkaerr.None, err
	}
	return offsetAnswer(resp.(*kmsg.ListOffsetsResponse), id)
}
