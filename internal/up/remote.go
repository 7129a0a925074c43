package up

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

var (
	// ErrRunning says that the directory's cluster runs already.
	ErrRunning = errors.New("the cluster runs already")
	// ErrNoCluster says that none runs in the directory.
	ErrNoCluster = errors.New("no cluster runs")
)

const (
	contactFile = "supervisor.json"
	tokenHeader = "X-Kz-Token"
)

// A contact is how to reach the supervisor of a directory.
type contact struct {
	API   string `json:"api"` // host:port
	Token string `json:"token"`
	PID   int    `json:"pid"`
}

// A Remote is a running supervisor, seen from another process.
type Remote struct {
	dir     string
	contact contact
}

// Find finds the supervisor of a directory and asks whether it lives.
func Find(dir string) (*Remote, error) {
	b, err := os.ReadFile(filepath.Join(dir, contactFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoCluster
	}
	if err != nil {
		return nil, err
	}
	r := &Remote{dir: dir}
	if json.Unmarshal(b, &r.contact) != nil {
		return nil, ErrNoCluster // a kill in the middle of writing it
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if _, err := r.Snapshot(ctx); err != nil {
		return nil, fmt.Errorf("%w (its supervisor does not answer: %w)", ErrNoCluster, err)
	}
	return r, nil
}

// request sends one request; body is JSON, or nil. The caller closes what is answered.
func (r *Remote) request(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+r.contact.API+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set(tokenHeader, r.contact.Token)
	req.Close = true
	client := &http.Client{Transport: &http.Transport{}} // not through anybody's proxy
	return client.Do(req)
}

// call is a request with a short answer. A refusal comes back as the *Refusal it is.
func (r *Remote) call(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	resp, err := r.request(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil || resp.StatusCode < 300 {
		return b, err
	}
	var refused Refusal
	if json.Unmarshal(b, &refused) == nil && refused.Text != "" {
		return nil, &refused
	}
	return nil, fmt.Errorf("%s %s: %s", method, path, resp.Status)
}

// Snapshot asks how the cluster is.
func (r *Remote) Snapshot(ctx context.Context) (Snapshot, error) {
	var s Snapshot
	b, err := r.call(ctx, http.MethodGet, "/v1/cluster", nil)
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	return s, err
}

// Stop asks for the end and waits for it, until ctx ends.
func (r *Remote) Stop(ctx context.Context) error {
	if _, err := r.call(ctx, http.MethodPost, "/v1/stop", nil); err != nil {
		return err
	}
	beat := time.NewTicker(pollEvery)
	defer beat.Stop()
	for {
		if _, err := os.Stat(filepath.Join(r.dir, contactFile)); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		select {
		case <-beat.C:
		case <-ctx.Done():
			return fmt.Errorf("process %d has not ended: %w", r.contact.PID, ctx.Err())
		}
	}
}
