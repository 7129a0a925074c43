package broker

import (
	"context"
	"errors"
	"fmt"
	"math"

	"kz/internal/zk"
	"kz/zkpaths"
)

// producerIDBlockSize is how many producer ids a broker claims at a time.
const producerIDBlockSize = 1000

// producerIDBlock is a range of producer ids, both ends inclusive.
type producerIDBlock struct{ first, last int64 }

// claimProducerIDBlock takes the next block of producer ids for this broker. Kafka claims
// one at every start, so we do: the znode's history is the same. Mirrors
// ProducerIdManager.getNewProducerIdBlock.
//
// Two brokers may claim at once: the write demands the version that was read. BADVERSION
// may be the echo of our own success after a lost connection, so the block is read back.
func claimProducerIDBlock(ctx context.Context, c *zk.Client, broker int32) (producerIDBlock, error) {
	for {
		data, stat, err := c.Get(ctx, zkpaths.ProducerIDBlock)
		if err != nil {
			return producerIDBlock{}, fmt.Errorf("read %s: %w", zkpaths.ProducerIDBlock, err)
		}
		block, err := nextProducerIDBlock(data)
		if err != nil {
			return producerIDBlock{}, err
		}
		mine := zkpaths.EncodeProducerIDBlock(broker, block.first, block.last)
		_, err = c.Set(ctx, zkpaths.ProducerIDBlock, mine, stat.Version)
		if err == nil {
			return block, nil
		}
		if !errors.Is(err, zk.BadVersion) {
			return producerIDBlock{}, fmt.Errorf("write %s: %w", zkpaths.ProducerIDBlock, err)
		}
		if data, _, err := c.Get(ctx, zkpaths.ProducerIDBlock); err == nil && string(data) == string(mine) {
			return block, nil
		}
	}
}

// nextProducerIDBlock is the block after the one that was claimed last.
func nextProducerIDBlock(data []byte) (producerIDBlock, error) {
	if data == nil {
		return producerIDBlock{0, producerIDBlockSize - 1}, nil
	}
	_, _, last, err := zkpaths.DecodeProducerIDBlock(data)
	if err != nil {
		return producerIDBlock{}, err
	}
	if last > math.MaxInt64-producerIDBlockSize {
		return producerIDBlock{}, fmt.Errorf("%s: producer ids are used up, the last block ends at %d", zkpaths.ProducerIDBlock, last)
	}
	return producerIDBlock{last + 1, last + producerIDBlockSize}, nil
}
