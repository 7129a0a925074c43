package consumer_test

import (
	"context"
	"fmt"
	"log"

	"kz/client"
	"kz/client/consumer"
	"kz/internal/topic"
)

// A member of the group "billing": it shares the partitions of "orders" with the others,
// and commits what it has worked on.
func ExampleConsumer_Subscribe() {
	cfg := consumer.DefaultConfig(client.DefaultConfig("localhost:9092"))
	cfg.Group, cfg.AutoCommit = "billing", false
	c := consumer.New(cfg)
	defer c.Close() // leaves the group: the others need not wait for a timeout

	err := c.Subscribe([]string{"orders"}, consumer.Listener{
		Assigned: func(parts []topic.Partition) { fmt.Println("mine now:", parts) },
		Revoked:  func(parts []topic.Partition) { _ = c.CommitSync(context.Background()) },
	})
	if err != nil {
		log.Fatal(err)
	}
	for {
		fetched, err := c.Poll(context.Background())
		if err != nil {
			log.Fatal(err)
		}
		for i := range fetched {
			for r, err := range fetched[i].Records() {
				if err != nil {
					log.Fatal(err)
				}
				fmt.Printf("%v@%d %s\n", fetched[i].Partition, r.Offset, r.Value)
			}
		}
		if err := c.CommitSync(context.Background()); err != nil {
			log.Print(err) // ErrCommitFailed: others read these partitions now
		}
	}
}

// A reader without a group: it names the partitions and where to begin.
func ExampleConsumer_Assign() {
	c := consumer.New(consumer.DefaultConfig(client.DefaultConfig("localhost:9092")))
	defer c.Close()
	_ = c.Assign([]topic.Partition{{Topic: "orders", Partition: 0}}, consumer.Earliest)
	fetched, err := c.Poll(context.Background())
	fmt.Println(len(fetched), err)
}
