package up

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// StartDetached runs this program with args, apart from the terminal, as the supervisor of
// dir, and waits until its cluster runs. What it says is added to supervisor.log: two can
// be started at once, and the one that comes too late must not wipe out what the other says.
func StartDetached(ctx context.Context, dir string, args ...string) (Snapshot, error) {
	exe, err := os.Executable()
	if err != nil {
		return Snapshot{}, err
	}
	file := filepath.Join(dir, "supervisor.log")
	log, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return Snapshot{}, err
	}
	defer log.Close()
	before, err := log.Stat()
	if err != nil {
		return Snapshot{}, err
	}
	cmd := exec.Command(exe, args...)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = log, log, ownSession()
	if err := cmd.Start(); err != nil {
		return Snapshot{}, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // what it said is in the log
	}()
	s, err := AwaitRunning(ctx, dir, ended)
	switch {
	case err == nil:
		return s, nil
	case errors.Is(err, ErrNoCluster):
		said, _ := os.ReadFile(file)
		said = said[min(int64(len(said)), before.Size()):]
		return Snapshot{}, fmt.Errorf("it did not start:\n%s", strings.TrimSpace(string(said)))
	}
	_ = cmd.Process.Kill() // its children go with it
	return Snapshot{}, fmt.Errorf("%w; what it says is in %s", err, file)
}

// AwaitRunning waits until the cluster of dir runs. ErrNoCluster: nobody starts it any
// more. ended is closed when our process that was to do it has ended, and then somebody
// else's may have been a moment faster; nil: we have none.
func AwaitRunning(ctx context.Context, dir string, ended <-chan struct{}) (Snapshot, error) {
	beat := time.NewTicker(pollEvery)
	defer beat.Stop()
	over := ended == nil
	for {
		r, err := Find(dir)
		if err == nil {
			if s, err := r.Snapshot(ctx); err == nil && s.State == "running" {
				return s, nil
			}
		} else if over {
			return Snapshot{}, err
		}
		select {
		case <-beat.C:
		case <-ended:
			ended, over = nil, true
		case <-ctx.Done():
			return Snapshot{}, errors.New("it was not ready in time")
		}
	}
}
