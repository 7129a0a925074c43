package up

import (
	"context"
	"fmt"
	"time"

	"kz/zkpaths"
)

// awaitUnregistered waits until none of the brokers is registered in ZooKeeper. One that
// was killed stays so until its session times out, also over a restart of ZooKeeper, and
// its successor would be refused: broker ids are taken by who is registered.
func (c *Cluster) awaitUnregistered(ctx context.Context, ids ...int32) error {
	client, err := c.connect(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	beat := time.NewTicker(pollEvery)
	defer beat.Stop()
	for _, id := range ids {
		for {
			_, there, err := client.Exists(ctx, zkpaths.Broker(id))
			if err != nil {
				return fmt.Errorf("%s: %w", zkpaths.Broker(id), err)
			}
			if !there {
				break
			}
			select {
			case <-beat.C:
			case <-ctx.Done():
				return fmt.Errorf("broker id %d is still registered in the ZooKeeper at %s: another broker has it", id, c.ZooKeeper())
			}
		}
	}
	return nil
}
