package up

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"
)

const (
	sseBeat  = 15 * time.Second // a comment, so that both sides notice when the other is gone
	slowWait = 10 * time.Second // for one write: a reader that is slower loses its connection
)

// serveEvents sends events as server-sent events, one message each:
//
//	id: 812
//	data: {"seq":812,…}
//
// beginning behind ?since=N or the header Last-Event-ID, with which a browser resumes.
// Nothing is kept for a reader: what it has not read is in the file, so it costs a bounded
// chunk of memory however far behind it is.
func (s *Supervisor) serveEvents(w http.ResponseWriter, r *http.Request) {
	since, err := sinceOf(r)
	if err != nil {
		refuse(w, http.StatusBadRequest, Refusal{Usage: true, Text: err.Error()})
		return
	}
	stream, err := s.Stream(since)
	if err != nil {
		refuse(w, http.StatusConflict, Refusal{Text: err.Error()})
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	out := http.NewResponseController(w)
	beat := time.NewTicker(sseBeat)
	defer beat.Stop()
	if s.send(w, out, ": events\n\n") != nil {
		return
	}
	for {
		more := stream.More()
		sent, err := s.sendMore(w, out, stream)
		if err != nil {
			return
		}
		if sent {
			continue
		}
		select {
		case <-more:
		case <-beat.C:
			if s.send(w, out, ": \n\n") != nil {
				return
			}
		case <-r.Context().Done():
			return
		case <-s.leaving: // closed after the last event was written
			for sent, err := s.sendMore(w, out, stream); sent && err == nil; {
				sent, err = s.sendMore(w, out, stream)
			}
			return
		}
	}
}

func sinceOf(r *http.Request) (int64, error) {
	for _, text := range []string{r.Header.Get("Last-Event-ID"), r.URL.Query().Get("since")} {
		if text == "" {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < -1 {
			return 0, fmt.Errorf("%.40q is no number of an event", text)
		}
		return n, nil
	}
	return 0, nil
}

// sendMore sends what there is, up to a chunk. The lines of the file are the data.
func (s *Supervisor) sendMore(w io.Writer, out *http.ResponseController, stream *Stream) (sent bool, err error) {
	var text []byte
	err = stream.lines(func(seq int64, line []byte) {
		text = fmt.Appendf(text, "id: %d\ndata: %s\n\n", seq, line)
	})
	if err != nil || len(text) == 0 {
		return false, err
	}
	return true, s.send(w, out, string(text))
}

func (s *Supervisor) send(w io.Writer, out *http.ResponseController, text string) error {
	wait := slowWait
	if s.cfg.slowWait > 0 {
		wait = s.cfg.slowWait
	}
	if err := out.SetWriteDeadline(time.Now().Add(wait)); err != nil {
		return err
	}
	_, err := io.WriteString(w, text)
	if err == nil {
		err = out.Flush()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.slow.Add(1)
	}
	return err
}
