package up

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
)

// faultRequest is the body of POST /v1/faults: one of the two.
type faultRequest struct {
	Node *NodeFault `json:"node,omitempty"`
	Link *LinkFault `json:"link,omitempty"`
}

// Node has something done to a node and waits until it is done, or armed. The error is a
// *Refusal when it was not.
func (r *Remote) Node(ctx context.Context, f NodeFault) (Fault, error) {
	if f.ID == "" {
		f.ID = rand.Text()
	}
	return r.fault(ctx, faultRequest{Node: &f})
}

// Link has something done to a link and waits until it is in force at both ends.
func (r *Remote) Link(ctx context.Context, f LinkFault) (Fault, error) {
	if f.ID == "" {
		f.ID = rand.Text()
	}
	return r.fault(ctx, faultRequest{Link: &f})
}

func (r *Remote) fault(ctx context.Context, req faultRequest) (Fault, error) {
	var f Fault
	body, err := json.Marshal(req)
	if err != nil {
		return f, err
	}
	b, err := r.call(ctx, http.MethodPost, "/v1/faults", body)
	if err == nil {
		err = json.Unmarshal(b, &f)
	}
	return f, err
}

// Faults lists what is in force or armed, the oldest first.
func (r *Remote) Faults(ctx context.Context) ([]Fault, error) {
	return r.faults(ctx, http.MethodGet)
}

// Heal ends everything that Faults lists, and says what that was.
func (r *Remote) Heal(ctx context.Context) ([]Fault, error) {
	return r.faults(ctx, http.MethodDelete)
}

func (r *Remote) faults(ctx context.Context, method string) ([]Fault, error) {
	var all []Fault
	b, err := r.call(ctx, method, "/v1/faults", nil)
	if err == nil {
		err = json.Unmarshal(b, &all)
	}
	return all, err
}
