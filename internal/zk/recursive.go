package zk

import (
	"context"
	"strings"
)

// CreateRecursive creates the node, and its missing parents with null data. It tries the
// node itself first, then walks up. NodeExists on the node itself is an error.
func (c *Client) CreateRecursive(ctx context.Context, path string, data []byte) error {
	err := c.one(ctx, CreateOp(path, data)).Err
	if err != NoNode {
		return err
	}
	parent := path[:strings.LastIndexByte(path, '/')]
	if parent == "" {
		return err // the root always exists, unless a chroot was deleted under us
	}
	if err := c.CreateRecursive(ctx, parent, nil); err != nil && err != NodeExists {
		return err
	}
	return c.one(ctx, CreateOp(path, data)).Err
}

// DeleteRecursive deletes the children first, then the node, each whatever its version
// (and fenced, unless fence is NoFence). What is gone already is fine.
func (c *Client) DeleteRecursive(ctx context.Context, path string, fence int32) error {
	children, err := c.Children(ctx, path, false)
	if err == NoNode {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range children {
		if err := c.DeleteRecursive(ctx, strings.TrimSuffix(path, "/")+"/"+name, fence); err != nil {
			return err
		}
	}
	op := DeleteOp(path, AnyVersion)
	op.Fence = fence
	if err := c.one(ctx, op).Err; err != nil && err != NoNode {
		return err
	}
	return nil
}
