package up

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// maxEventLine bounds one event on its way: an event is some hundred bytes.
const maxEventLine = 1 << 20

// Events calls each for every event behind since, in order, those to come as well, until
// each returns an error, ctx ends or the supervisor does. A supervisor that ends in order
// makes it return nil.
func (r *Remote) Events(ctx context.Context, since int64, each func(Event) error) error {
	resp, err := r.request(ctx, http.MethodGet, "/v1/events?since="+strconv.FormatInt(since, 10), nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("events: %s", resp.Status)
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, maxEventLine)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue // the id, which the data says too; a comment that keeps the connection
		}
		var ev Event
		if err := json.Unmarshal([]byte(data), &ev); err != nil {
			return fmt.Errorf("events: %w", err)
		}
		if err := each(ev); err != nil {
			return err
		}
	}
	return lines.Err()
}
