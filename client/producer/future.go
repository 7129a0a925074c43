package producer

import "context"

// There are three ways to send, by how much the caller wants to know:
//
//	fire and forget   Send(ctx, r, nil)     fast; a loss goes unnoticed
//	asynchronous      Send(ctx, r, done)    fast; done hears of each record
//	synchronous       SendSync(ctx, r)      one record at a time: each waits for its answer
//
// A Future is in between: send many, then wait for each.

// Future is the answer that is still on its way.
type Future struct {
	done chan struct{} // closed when the rest is set
	meta Metadata
	err  error
}

// Done is closed when the answer is there.
func (f *Future) Done() <-chan struct{} { return f.done }

// Wait gives the answer, or ctx's error. The record is sent even if nobody waits.
func (f *Future) Wait(ctx context.Context) (Metadata, error) {
	select {
	case <-f.done:
		return f.meta, f.err
	case <-ctx.Done():
		return Metadata{}, ctx.Err()
	}
}

// SendFuture is Send with a Future in place of a callback; the record's Tag is not used.
func (p *Producer) SendFuture(ctx context.Context, r Record) (*Future, error) {
	f := &Future{done: make(chan struct{})}
	err := p.Send(ctx, r, func(_ int64, m Metadata, err error) {
		f.meta, f.err = m, err
		close(f.done)
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// SendSync sends and waits until the broker has answered as acks says.
func (p *Producer) SendSync(ctx context.Context, r Record) (Metadata, error) {
	f, err := p.SendFuture(ctx, r)
	if err != nil {
		return Metadata{}, err
	}
	return f.Wait(ctx)
}
