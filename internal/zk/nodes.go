package zk

import "context"

// Multi is one transaction: all of it or nothing. A failed one gives each op's own code:
// nil before the failing op, its code at it, RuntimeInconsistency after it; err is the
// failing op's code. results is nil when no answer came at all.
func (c *Client) Multi(ctx context.Context, ops ...Op) (results []Result, err error) {
	if len(ops) == 0 {
		return nil, nil
	}
	a := c.do(ctx, []unit{{op: ops[0], multi: ops}})[0]
	for i := range a.parts {
		a.parts[i].Retried = a.retried
	}
	return a.parts, a.result.Err
}

func (c *Client) one(ctx context.Context, op Op) Result { return c.Do(ctx, op)[0] }

// Get reads a node's data and stat.
func (c *Client) Get(ctx context.Context, path string) ([]byte, Stat, error) {
	r := c.one(ctx, GetOp(path))
	return r.Data, r.Stat, r.Err
}

// Exists reads a node's stat, or says that there is none.
func (c *Client) Exists(ctx context.Context, path string) (Stat, bool, error) {
	r := c.one(ctx, ExistsOp(path))
	if r.Err == NoNode {
		return Stat{}, false, nil
	}
	return r.Stat, r.Err == nil, r.Err
}

// Children lists the names below a path.
func (c *Client) Children(ctx context.Context, path string, watch bool) ([]string, error) {
	r := c.one(ctx, ChildrenOp(path, watch))
	return r.Children, r.Err
}

// Set replaces the data if the node has this version. After a lost connection BadVersion
// may be the echo of our own success: the caller that cares reads back.
func (c *Client) Set(ctx context.Context, path string, data []byte, version int32) (Stat, error) {
	r := c.one(ctx, SetOp(path, data, version))
	return r.Stat, r.Err
}

// Delete removes a node without children if it has this version.
func (c *Client) Delete(ctx context.Context, path string, version int32) error {
	return c.one(ctx, DeleteOp(path, version)).Err
}

// CreateSequential creates prefix + ten digits and returns the whole path. After a lost
// connection it may have been created twice.
func (c *Client) CreateSequential(ctx context.Context, prefix string, data []byte) (string, error) {
	op := CreateOp(prefix, data)
	op.Sequential = true
	r := c.one(ctx, op)
	return r.Path, r.Err
}
