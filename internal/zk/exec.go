package zk

import (
	gozk "github.com/go-zookeeper/zk"

	"kz/internal/journal"
)

// openACL is world:anyone:cdrwa, what Kafka uses with zookeeper.set.acl=false.
var openACL = gozk.WorldACL(gozk.PermAll)

// send makes one go-zookeeper call and waits for its answer.
func (c *Client) send(s *session, cl *call, u unit, retried bool) (a answer) {
	defer cl.passTurn()
	switch {
	case u.multi != nil:
		a.parts, a.result.Err = s.multi(u.multi)
	case u.op.Fence >= 0:
		check := CheckOp(controllerEpochPath, u.op.Fence)
		a.parts, a.result.Err = s.multi([]Op{check, u.op})
	case u.op.Kind.isWrite():
		a.result = s.write(u.op)
	default:
		a.result = c.read(s, u.op)
	}
	zxid := cl.zxid.Load()
	a.result.Zxid = zxid
	for i := range a.parts {
		a.parts[i].Zxid = zxid
	}
	c.journalWrites(u, a, retried)
	return a
}

func (s *session) write(op Op) (r Result) {
	path := s.cfg.full(op.Path)
	var err error
	switch op.Kind {
	case OpCreate:
		r.Path, err = s.conn.Create(path, op.Data, op.flags(), openACL)
		r.Path = s.cfg.local(r.Path)
	case OpSet:
		var stat *gozk.Stat
		stat, err = s.conn.Set(path, op.Data, op.Version)
		r.Stat = fromStat(stat)
	case OpDelete:
		err = s.conn.Delete(path, op.Version)
	}
	r.Err = translate(err)
	return r
}

func (c *Client) read(s *session, op Op) (r Result) {
	path := s.cfg.full(op.Path)
	key := watchKey{child: op.Kind == OpChildren, path: op.Path}
	watch := c.handlers.watches(op)
	var doubt armDoubt
	if watch {
		watch, doubt = s.arming(key)
	}
	var stat *gozk.Stat
	var err error
	switch op.Kind {
	case OpGet:
		if watch {
			r.Data, stat, _, err = s.conn.GetW(path)
		} else {
			r.Data, stat, err = s.conn.Get(path)
		}
	case OpExists:
		var found bool
		if watch {
			found, stat, _, err = s.conn.ExistsW(path)
		} else {
			found, stat, err = s.conn.Exists(path)
		}
		if err == nil && !found {
			if watch { // exists arms also where there is nothing
				s.confirm(doubt)
			}
			err, watch = gozk.ErrNoNode, false
		}
	case OpChildren:
		if watch {
			r.Children, stat, _, err = s.conn.ChildrenW(path)
		} else {
			r.Children, stat, err = s.conn.Children(path)
		}
	default:
		err = gozk.ErrBadArguments // check stands only inside Multi
	}
	if err == nil && watch {
		s.confirm(doubt)
	}
	r.Err, r.Stat = translate(err), fromStat(stat)
	return r
}

func (s *session) multi(ops []Op) ([]Result, error) {
	reqs := make([]any, len(ops))
	for i, op := range ops {
		path := s.cfg.full(op.Path)
		switch op.Kind {
		case OpCreate:
			reqs[i] = &gozk.CreateRequest{Path: path, Data: op.Data, Acl: openACL, Flags: op.flags()}
		case OpSet:
			reqs[i] = &gozk.SetDataRequest{Path: path, Data: op.Data, Version: op.Version}
		case OpDelete:
			reqs[i] = &gozk.DeleteRequest{Path: path, Version: op.Version}
		case OpCheck:
			reqs[i] = &gozk.CheckVersionRequest{Path: path, Version: op.Version}
		default:
			return nil, BadArguments
		}
	}
	responses, err := s.conn.Multi(reqs...)
	if err != nil && len(responses) != len(ops) {
		return nil, translate(err)
	}
	results := make([]Result, len(ops))
	for i, resp := range responses {
		results[i] = Result{Err: translate(resp.Error), Path: s.cfg.local(resp.String), Stat: fromStat(resp.Stat)}
	}
	return results, translate(err)
}

func (o Op) flags() int32 {
	var flags int32
	if o.Ephemeral {
		flags |= gozk.FlagEphemeral
	}
	if o.Sequential {
		flags |= gozk.FlagSequence
	}
	return flags
}

func fromStat(s *gozk.Stat) Stat {
	if s == nil {
		return Stat{}
	}
	return Stat{
		Czxid: s.Czxid, Mzxid: s.Mzxid, Ctime: s.Ctime, Mtime: s.Mtime,
		Version: s.Version, Cversion: s.Cversion, Aversion: s.Aversion,
		EphemeralOwner: s.EphemeralOwner, DataLength: s.DataLength, NumChildren: s.NumChildren, Pzxid: s.Pzxid,
	}
}

// journalWrites emits one event per write of the unit, failed ones too.
func (c *Client) journalWrites(u unit, a answer, retried bool) {
	if !c.journal.On() || a.result.Err == errUnsent {
		return
	}
	ops, results := u.multi, a.parts
	if ops == nil {
		ops = []Op{u.op}
		results = []Result{answer{result: a.result, parts: a.parts}.single(u.op)}
	}
	for i, op := range ops {
		if !op.Kind.isWrite() {
			continue
		}
		r := a.result
		if i < len(results) {
			r = results[i]
		}
		ev := journal.Event{
			Kind: journal.ZnodeWrite, Source: "zk", Path: op.Path, Result: resultName(r.Err), Zxid: a.result.Zxid,
			VersionBefore: op.Version, VersionAfter: r.Stat.Version, Text: op.Kind.String(),
		}
		if op.Fence >= 0 {
			ev.Text += " fenced"
		}
		if retried {
			ev.Text += " again, after a lost connection"
		}
		if op.Kind == OpCreate {
			ev.VersionBefore = 0
			if r.Path != "" {
				ev.Path = r.Path // with the sequence number
			}
		}
		c.journal.Emit(ev)
	}
}
