package up

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// StartDetached runs this program with args, apart from the terminal, as the supervisor of
// dir, and waits until its cluster runs. What it says goes to supervisor.log.
func StartDetached(ctx context.Context, dir string, args ...string) (Snapshot, error) {
	exe, err := os.Executable()
	if err != nil {
		return Snapshot{}, err
	}
	file := filepath.Join(dir, "supervisor.log")
	log, err := os.Create(file)
	if err != nil {
		return Snapshot{}, err
	}
	defer log.Close()
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
	beat := time.NewTicker(pollEvery)
	defer beat.Stop()
	for {
		if r, err := Find(dir); err == nil {
			if s, err := r.Snapshot(ctx); err == nil && s.State == "running" {
				return s, nil
			}
		}
		select {
		case <-beat.C:
		case <-ended:
			if _, err := Find(dir); err == nil { // somebody else's was a moment faster
				ended = nil
				continue
			}
			said, _ := os.ReadFile(file)
			return Snapshot{}, fmt.Errorf("it did not start:\n%s", strings.TrimSpace(string(said)))
		case <-ctx.Done():
			_ = cmd.Process.Kill() // its children go with it
			return Snapshot{}, fmt.Errorf("it was not ready in time; what it says is in %s", file)
		}
	}
}
