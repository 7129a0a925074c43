package up

import (
	"cmp"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// guard lets in who knows the token and is no web page: none that says where it comes from
// (Origin), and none whose name was made to lead here (Host).
func (s *Supervisor) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		known := subtle.ConstantTimeCompare([]byte(r.Header.Get(tokenHeader)), []byte(s.contact.Token)) == 1
		if !known || r.Header.Get("Origin") != "" || !s.isOurs(r.Host) {
			refuse(w, http.StatusForbidden, Refusal{Text: "the token of this run is missing, or the request comes from a web page"})
			return
		}
		if r.ContentLength != 0 { // one that trickles in must not hold us for ever
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(cmp.Or(s.cfg.bodyWait, bodyWait)))
		}
		if err := strange(r); err != nil {
			refuse(w, http.StatusBadRequest, Refusal{Usage: true, Text: err.Error()})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// strange names what a request says and nobody would heed: who asks for one fault to be
// healed must not see all healed.
func strange(r *http.Request) error {
	asked, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return fmt.Errorf("the query of %s cannot be read: %w", r.URL.Path, err)
	}
	for name, values := range asked {
		if r.URL.Path != "/v1/events" || name != "since" {
			return fmt.Errorf("%s %s has no parameter %.40q", r.Method, r.URL.Path, name)
		}
		if len(values) > 1 {
			return fmt.Errorf("%s is given %d times", name, len(values))
		}
	}
	if r.ContentLength != 0 && (r.Method != http.MethodPost || r.URL.Path != "/v1/faults") {
		return fmt.Errorf("%s %s takes no body", r.Method, r.URL.Path)
	}
	return nil
}

// isOurs says whether a Host header names the address the server listens on.
func (s *Supervisor) isOurs(host string) bool {
	_, port, err := net.SplitHostPort(s.contact.API)
	return host == s.contact.API || err == nil && host == net.JoinHostPort("localhost", port)
}

func (s *Supervisor) serveSnapshot(w http.ResponseWriter, _ *http.Request) {
	answerJSON(w, s.Snapshot())
}

func (s *Supervisor) serveStop(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusAccepted)
	s.ask.Do(func() { close(s.asked) })
}

func (s *Supervisor) serveFaults(w http.ResponseWriter, _ *http.Request) { answerJSON(w, s.Faults()) }

// bodyWait is how long a request's body may take to arrive.
const bodyWait = 5 * time.Second

// maxFaultBody bounds what a request may ask for.
const maxFaultBody = 16 << 10

func (s *Supervisor) serveFault(w http.ResponseWriter, r *http.Request) {
	var req faultRequest
	in := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxFaultBody))
	in.DisallowUnknownFields()
	err := in.Decode(&req)
	if err == nil {
		if _, more := in.Token(); more != io.EOF {
			err = errors.New("something follows it")
		}
	}
	if err == nil && (req.Node == nil) == (req.Link == nil) {
		err = errors.New("it must have node or link")
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, Refusal{Usage: true, Text: "that is no fault: " + err.Error()})
		return
	}
	if s.state.Load() != "running" {
		refuse(w, http.StatusConflict, Refusal{Text: "the cluster is " + s.state.Load().(string) + "."})
		return
	}
	var f Fault
	if req.Node != nil {
		f, err = s.Node(r.Context(), *req.Node)
	} else {
		f, err = s.Link(r.Context(), *req.Link)
	}
	answerOr(w, f, err)
}

func (s *Supervisor) serveHeal(w http.ResponseWriter, r *http.Request) {
	healed, err := s.Heal(r.Context())
	answerOr(w, healed, err)
}

// answerOr says what was done, or why not: 400 for what does not exist, 409 when the
// cluster is not in the state for it, 500 for the rest.
func answerOr(w http.ResponseWriter, what any, err error) {
	var refused *Refusal
	switch {
	case err == nil:
		answerJSON(w, what)
	case errors.As(err, &refused) && refused.Usage:
		refuse(w, http.StatusBadRequest, *refused)
	case errors.As(err, &refused):
		refuse(w, http.StatusConflict, *refused)
	default:
		refuse(w, http.StatusInternalServerError, Refusal{Text: err.Error()})
	}
}

func answerJSON(w http.ResponseWriter, what any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(what) // fails when the asker has gone
}

func refuse(w http.ResponseWriter, status int, why Refusal) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(why)
}
