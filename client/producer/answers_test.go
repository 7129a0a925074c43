package producer

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"kz/internal/fakebroker"
	"kz/internal/kafkaerr"
	"kz/internal/record"
)

// Every error code, and worse, to Produce: every record that was taken hears of its end
// once, by delivery.timeout.ms or soon after, the broker is not asked without pause, and Close ends.
func TestEveryWrongAnswer(t *testing.T) {
	type trouble struct {
		name   string
		answer func(q *kmsg.ProduceRequest) kmsg.Response
	}
	all := []trouble{
		{"silence", func(*kmsg.ProduceRequest) kmsg.Response { return nil }},
		{"closed", func(*kmsg.ProduceRequest) kmsg.Response { return fakebroker.Close }},
		{"empty", func(*kmsg.ProduceRequest) kmsg.Response { return kmsg.NewPtrProduceResponse() }},
	}
	for code := kafkaerr.Code(-1); code < 100; code++ {
		if code == kafkaerr.None || code == kafkaerr.DuplicateSequenceNumber { // success
			continue
		}
		all = append(all, trouble{fmt.Sprint(int(code), " ", code.Name()), func(q *kmsg.ProduceRequest) kmsg.Response {
			resp := accept(1, q).(*kmsg.ProduceResponse)
			for i := range resp.Topics {
				for j := range resp.Topics[i].Partitions {
					resp.Topics[i].Partitions[j].ErrorCode = int16(code)
				}
			}
			return resp
		}})
	}
	for _, tr := range all {
		t.Run(tr.name, func(t *testing.T) {
			bubble(t, 1, []int32{1, 1}, func(c *Config) { c.DeliveryTimeout = 40 * time.Second }, func(r *rig) {
				asked := 0
				r.cluster.Handle(kmsg.Produce, func(_ int32, req kmsg.Request) kmsg.Response {
					if asked++; asked == 3000 {
						r.t.Error("Produce was asked 3000 times")
					}
					if asked >= 3000 {
						<-time.After(time.Minute) // so that the bubble's clock goes on
					}
					return tr.answer(req.(*kmsg.ProduceRequest))
				})
				const n = 20
				var times [n]int
				for i := range int64(n) {
					err := r.p.Send(r.t.Context(), Record{Topic: "t", Partition: int32(i % 2), Tag: i, Value: []byte("v"), Headers: []record.Header{{Key: "h"}}}, func(tag int64, _ Metadata, err error) {
						r.mu.Lock()
						defer r.mu.Unlock()
						if times[tag]++; err == nil {
							r.t.Errorf("record %d was kept, it says", tag)
						}
					})
					if err != nil {
						r.t.Fatal(err)
					}
				}
				begin := time.Now()
				if err := r.p.Close(context.Background()); err != nil {
					r.t.Error(err)
				}
				if took := time.Since(begin); took > r.p.cfg.DeliveryTimeout+2*r.p.cfg.Client.RequestTimeout {
					r.t.Errorf("Close took %v", took)
				}
				for i, heard := range times {
					if heard != 1 {
						r.t.Errorf("record %d heard %d times", i, heard)
					}
				}
			})
		})
	}
}
