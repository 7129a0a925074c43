package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"kz/internal/zk"
)

// An event that fails because the session is over is no fault: the next session reads all again.
func TestEventsOfADeadSessionAreNoErrors(t *testing.T) {
	var log strings.Builder
	c := &Controller{log: zerolog.New(&log), life: context.Background()}
	c.report(brokerChange{}, fmt.Errorf("reading /brokers/ids: %w", zk.SessionExpired))
	if got := log.String(); strings.Contains(got, `"level":"error"`) || !strings.Contains(got, "event dropped") {
		t.Errorf("logged %s", got)
	}
	c.report(brokerChange{}, errors.New("x"))
	if got := log.String(); strings.Count(got, `"level":"error"`) != 1 {
		t.Errorf("logged %s", got)
	}
}
