package cli

import (
	"context"
	"errors"
	"fmt"

	"kz/internal/zk"
)

// treeWatcher follows a path and all below it by one persistent watch: one event for each
// change, in the order in which ZooKeeper did them. The data is read after the event, so
// it may be newer than what the event is about; then a further event comes.
type treeWatcher struct {
	watch    *zk.Persistent
	path     string
	versions map[string]int32 // of each znode, as last seen
}

func openTreeWatcher(ctx context.Context, e *env, connect, path string) (zkWatcher, error) {
	servers, chroot, err := zk.ParseConnect(connect)
	if err != nil {
		return nil, exitf(exitUsage, "kz zk: %v.", err)
	}
	cfg := zk.Config{Servers: servers, Chroot: chroot, SessionTimeout: zkWait, ConnectionTimeout: zkWait}
	watch, err := zk.WatchPersistent(ctx, cfg, e.network, path, true)
	switch {
	case errors.Is(err, zk.ErrNoPersistentWatches):
		return nil, exitf(exitFailed, "kz zk watch: %v. Without --recursive any version will do.", err)
	case err != nil:
		return nil, exitf(exitNoCluster, "kz zk: %v. Is ZooKeeper running? Say where with --zookeeper host:port.", err)
	}
	return &treeWatcher{watch: watch, path: path, versions: map[string]int32{}}, nil
}

func (w *treeWatcher) close() { w.watch.Close() }

func (w *treeWatcher) begin(ctx context.Context) (string, error) {
	_, stat, err := w.watch.Get(ctx, w.path)
	switch {
	case errors.Is(err, zk.NoNode):
		return "and all below it; it does not exist yet", nil
	case err != nil:
		return "", err
	}
	w.versions[w.path] = stat.Version
	return fmt.Sprintf("and all below it; it is at v%d", stat.Version), nil
}

func (w *treeWatcher) next(ctx context.Context) ([]zkChange, error) {
	ev, err := w.watch.Next(ctx)
	if err != nil {
		return nil, err
	}
	var was *int32
	if v, known := w.versions[ev.Path]; known {
		was = &v
	}
	ch := zkChange{Path: ev.Path, Event: ev.Type.String(), Was: was}
	if ev.Type == zk.Deleted {
		delete(w.versions, ev.Path)
		return []zkChange{ch}, nil
	}
	data, stat, err := w.watch.Get(ctx, ev.Path)
	switch {
	case errors.Is(err, zk.NoNode): // its deletion is the next event
		return []zkChange{ch}, nil
	case err != nil:
		return nil, err
	}
	ch = oneWrite(ev, was, data, stat)
	w.versions[ev.Path] = *ch.Version
	return []zkChange{ch}, nil
}

// oneWrite is what one event is about: one write, of which the node may be further already.
// Then its data and zxid were not seen, and the version follows from counting.
func oneWrite(ev zk.NodeEvent, was *int32, data []byte, stat zk.Stat) zkChange {
	if ev.Type == zk.Created {
		ch := createdChange(ev.Path, data, stat)
		if stat.Version > 0 {
			first, zxid := int32(0), hexZxid(stat.Czxid)
			ch.Version, ch.Data, ch.Zxid = &first, nil, &zxid
		}
		return ch
	}
	ch := dataChange(ev.Path, was, data, stat)
	switch {
	case was == nil:
	case *was >= stat.Version: // it was read before its event came
		ch.Was = nil
	case *was+1 < stat.Version:
		next := *was + 1
		ch.Version, ch.Data, ch.Zxid = &next, nil, nil
	}
	return ch
}
