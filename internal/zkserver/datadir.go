package zkserver

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// dataDir is the directory: its files and how they are written.
type dataDir struct{ path string }

func (d dataDir) snapshot(zxid int64) string {
	return filepath.Join(d.path, fmt.Sprintf("snap.%016x", zxid))
}
func (d dataDir) log(zxid int64) string {
	return filepath.Join(d.path, fmt.Sprintf("log.%016x", zxid))
}

// list returns the zxids of all snapshots and logs, ascending.
func (d dataDir) list() (snapshots, logs []int64, err error) {
	entries, err := os.ReadDir(d.path)
	for _, e := range entries {
		kind, hex, _ := strings.Cut(e.Name(), ".")
		zxid, bad := strconv.ParseInt(hex, 16, 64)
		if bad != nil || len(hex) != 16 {
			continue
		}
		switch kind {
		case "snap":
			snapshots = append(snapshots, zxid)
		case "log":
			logs = append(logs, zxid)
		}
	}
	slices.Sort(snapshots)
	slices.Sort(logs)
	return snapshots, logs, err
}

// replace writes a file that is whole or not there.
func (d dataDir) replace(name string, b []byte, fsync bool) error {
	f, err := os.OpenFile(name+".tmp", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil && fsync {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(name+".tmp", name)
	}
	return err
}

// sync makes names durable that were given or taken. Windows has no such call.
func (d dataDir) sync(fsync bool) error {
	if !fsync || runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(d.path)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// purge removes all but the newest snapshots, and the logs that those do not need.
func (d dataDir) purge(keep int) error {
	snapshots, logs, err := d.list()
	if err != nil || len(snapshots) <= keep {
		return err
	}
	oldest := snapshots[len(snapshots)-keep]
	for _, z := range snapshots {
		if z < oldest {
			os.Remove(d.snapshot(z))
		}
	}
	for _, z := range logs {
		if z < oldest { // log.<z> ends where the next snapshot begins
			os.Remove(d.log(z))
		}
	}
	return nil
}

// sizes are the bytes of snapshots and logs.
func (w *wal) sizes() (snapshots, logs int64) {
	if w == nil {
		return 0, 0
	}
	snaps, files, _ := w.dir.list()
	size := func(name string) int64 {
		if info, err := os.Stat(name); err == nil {
			return info.Size()
		}
		return 0
	}
	for _, z := range snaps {
		snapshots += size(w.dir.snapshot(z))
	}
	for _, z := range files {
		logs += size(w.dir.log(z))
	}
	return snapshots, logs
}
