package broker

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"

	"kz/internal/zk"
	"kz/zkpaths"
)

// getOrMakeClusterID reads /cluster/id, or creates it with a fresh id. When another
// broker wins the creation, its id is the cluster's.
func getOrMakeClusterID(ctx context.Context, c *zk.Client) (string, error) {
	id, err := readClusterID(ctx, c)
	if !errors.Is(err, zk.NoNode) {
		return id, err
	}
	id = newClusterID()
	err = c.CreateRecursive(ctx, zkpaths.ClusterID, zkpaths.EncodeClusterID(id))
	if errors.Is(err, zk.NodeExists) { // another broker, or the echo of our own create
		return readClusterID(ctx, c)
	}
	if err != nil {
		return "", fmt.Errorf("create %s: %w", zkpaths.ClusterID, err)
	}
	return id, nil
}

func readClusterID(ctx context.Context, c *zk.Client) (string, error) {
	data, _, err := c.Get(ctx, zkpaths.ClusterID)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", zkpaths.ClusterID, err)
	}
	return zkpaths.DecodeClusterID(data)
}

// newClusterID is a random UUID (version 4) in URL-safe base64 without padding: 22
// characters. Mirrors CoreUtils.generateUuidAsBase64.
func newClusterID() string {
	var u [16]byte
	_, _ = rand.Read(u[:]) // never fails
	u[6] = u[6]&0x0f | 0x40
	u[8] = u[8]&0x3f | 0x80
	return base64.RawURLEncoding.EncodeToString(u[:])
}
