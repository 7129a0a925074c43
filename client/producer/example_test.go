package producer_test

import (
	"context"
	"fmt"
	"log"

	"kz/client"
	"kz/client/producer"
)

// The three ways to send.
func ExampleProducer() {
	p := producer.New(producer.DefaultConfig(client.DefaultConfig("localhost:9092")))
	ctx := context.Background()
	defer p.Close(ctx) // sends what is left

	r := producer.Record{Topic: "orders", Partition: producer.AnyPartition, Key: []byte("customer-7"), Value: []byte("two books")}

	_ = p.Send(ctx, r, nil) // fire and forget

	err := p.Send(ctx, r, func(_ int64, m producer.Metadata, err error) { // asynchronous
		fmt.Println(m.Partition, m.Offset, err)
	})
	if err != nil {
		log.Print("not even taken: ", err) // no metadata, or no memory, within max.block.ms
	}

	m, err := p.SendSync(ctx, r) // synchronous
	fmt.Println(m.Partition, m.Offset, err)
}
