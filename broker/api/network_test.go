package api

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/broker/commitlog"
	"kz/broker/network"
	"kz/broker/replica"
	"kz/internal/kafkaerr"
	"kz/internal/link"
	"kz/internal/wire"
)

// Client, network, handlers and back, in virtual time; everything ends on Stop, which
// the bubble proves: it fails when a goroutine is left.
func TestOverTheNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		f := tempFile(t, "0123456789")
		b.replicas.fetch = func(p replica.FetchPartition) replica.FetchResult {
			r := replica.FailedFetch(p.Partition, kafkaerr.None)
			r.Data = commitlog.Slice{File: f, Offset: 4, Length: 3}
			return r
		}
		n := link.NewMemory()
		s := network.New(network.Config{Listeners: []network.Endpoint{{Listener: "PLAINTEXT", Host: "127.0.0.1", Port: 9092}}}, n, zerolog.Nop())
		if err := s.Listen(); err != nil {
			t.Fatal(err)
		}
		b.d.Requests = s.Requests()
		b.Start()
		s.Serve()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		conn, err := wire.Dial(ctx, n, "127.0.0.1:9092", "c")
		if err != nil {
			t.Fatal(err)
		}
		do := func(req kmsg.Request, version int16) kmsg.Response {
			t.Helper()
			req.SetVersion(version)
			resp, err := conn.Do(ctx, req)
			if err != nil {
				t.Fatal(err)
			}
			return resp
		}
		if got := do(kmsg.NewPtrApiVersionsRequest(), 0).(*kmsg.ApiVersionsResponse); len(got.ApiKeys) != len(wire.Served()) {
			t.Errorf("%+v", got)
		}
		if got := partitionOf(do(produceRequest(9, 1, batch("k", "v")), 9)); got.BaseOffset != 7 {
			t.Errorf("%+v", got)
		}
		if got := do(fetchRequest(12, 0), 12).(*kmsg.FetchResponse); string(got.Topics[0].Partitions[0].RecordBatches) != "456" {
			t.Errorf("%+v", got)
		}
		if got := do(kmsg.NewPtrControlledShutdownRequest(), 3).(*kmsg.ControlledShutdownResponse); got.ErrorCode != 0 {
			t.Errorf("%+v", got)
		}
		silent := produceRequest(9, 0, batch("k", "v"))
		if err := conn.SendOnly(silent); err != nil {
			t.Fatal(err)
		}
		bad := produceRequest(9, 0, []byte{})
		if err := conn.SendOnly(bad); err != nil {
			t.Fatal(err)
		}
		<-conn.Done() // acks=0 with an error: the broker hangs up
		_ = conn.Close()
		s.StopReading()
		b.Stop()
		s.Stop()
		b.d.Admin.Stop()
	})
}
