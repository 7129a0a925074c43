package zk

import (
	"context"
	"fmt"
)

// CreateEphemeral registers this session at a path; the returned stat's Czxid is the
// broker epoch. Mirrors KafkaZkClient.CheckedEphemeral.
//
// The node is made by one multi: create with null data, then set with expected version
// 0; hence its data version is 1. If it exists already, its owner decides:
//
//	this session                         the answer to our own create was lost: keep it
//	the session of the last registration our expired session, not yet cleaned up by
//	                                     ZooKeeper (ZOOKEEPER-2985): delete, create again
//	another                              another live process has the id: NodeExists
func (c *Client) CreateEphemeral(ctx context.Context, path string, data []byte) (Stat, error) {
	for {
		create := CreateOp(path, nil)
		create.Ephemeral = true
		results, err := c.Multi(ctx, create, SetOp(path, data, 0))
		if err == nil {
			c.remember(results[1].Stat.EphemeralOwner)
			return results[1].Stat, nil
		}
		if err != NodeExists {
			return Stat{}, err
		}
		stat, again, err := c.afterNodeExists(ctx, path)
		if err != nil || !again {
			return stat, err
		}
	}
}

// afterNodeExists decides by the owner; again asks for another attempt.
func (c *Client) afterNodeExists(ctx context.Context, path string) (stat Stat, again bool, err error) {
	stat, found, err := c.Exists(ctx, path)
	session := c.SessionID()
	switch {
	case err != nil:
		return Stat{}, false, err
	case !found: // it vanished meanwhile
		return Stat{}, true, nil
	case stat.EphemeralOwner == session:
		c.remember(session)
		return stat, false, nil
	case stat.EphemeralOwner == c.rememberedSession():
		c.log.Info().Str("path", path).Str("owner", hex(stat.EphemeralOwner)).
			Msg("node of our expired session is still there, deleting it")
		if err := c.Delete(ctx, path, AnyVersion); err != nil && err != NoNode {
			return Stat{}, false, err
		}
		return Stat{}, true, nil
	}
	return Stat{}, false, fmt.Errorf("%s belongs to session %s, ours is %s: %w", path, hex(stat.EphemeralOwner), hex(session), NodeExists)
}

func (c *Client) remember(session int64) {
	c.mu.Lock()
	c.remembered = session
	c.mu.Unlock()
}

func (c *Client) rememberedSession() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.remembered
}
