package zkconsumer_test

import (
	"context"
	"fmt"
	"log"

	"kz/client"
	"kz/client/zkconsumer"
	"kz/internal/link"
	"kz/internal/zk"
)

// A member of the group "billing", as programs were written in 2014.
func ExampleConsumer() {
	cfg := zkconsumer.DefaultConfig(zk.Config{Servers: []string{"localhost:2181"}}, client.DefaultConfig(), "billing")
	cfg.Topics = []string{"orders"}
	c, err := zkconsumer.New(context.Background(), cfg, link.TCP{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	for {
		fetched, err := c.Poll(context.Background())
		if err != nil {
			log.Fatal(err)
		}
		for i := range fetched {
			for r, err := range fetched[i].Records() {
				fmt.Println(string(r.Value), err)
			}
		}
	}
}
