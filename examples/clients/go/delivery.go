package hyperdelay

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// A Handler does the work of a delivery. If it returns nil, the delivery is acknowledged. After an
// error or a panic it is given back and arrives again after the server's backoff, or after the
// delay of RetryAfter. ctx is that of Listen. If the handler takes longer than the server's
// ack_timeout_ms (default: 30 s), the task arrives again.
type Handler func(ctx context.Context, d *Delivery) error

// A Delivery is a copy of a task for this client.
type Delivery struct {
	ID, Route string
	// FireAt is the scheduled time.
	FireAt      time.Time
	Payload     []byte
	Compression string
	// Attempt is the number of the task's round, from 1.
	Attempt int64

	client   *Client
	session  *session
	answered atomic.Bool
}

// Ack acknowledges the delivery from its handler and waits for the reply. If removed is true, the
// removal is on the server's disk and the task is never delivered again. Handlers that need no such
// proof return nil instead. After Ack the handler's return value has no effect.
func (d *Delivery) Ack(ctx context.Context) (removed bool, err error) {
	if d.answered.Swap(true) {
		return false, ErrAnswered
	}
	var reply struct {
		Removed bool `json:"removed"`
	}
	r := d.answer("ack")
	r.Confirm = true
	err = d.client.do(ctx, r, d.session, &reply)
	return reply.Removed, err
}

// settle answers the delivery by the handler's result, unless the handler has answered. An answer
// is sent only on the session of its delivery, because the delivery ends with that session.
func (d *Delivery) settle(failure error) {
	if d.answered.Swap(true) {
		return
	}
	if failure == nil {
		d.client.tell(d.session, d.answer("ack"))
		return
	}
	r := d.answer("nack")
	var retry *retryAfter
	if errors.As(failure, &retry) {
		ms := int64(retry.delay / time.Millisecond)
		if ms < 0 {
			ms = 0
		}
		r.DelayMS = &ms
	}
	d.client.tell(d.session, r)
}

// answer returns a request that names the delivery exactly.
func (d *Delivery) answer(kind string) request {
	return request{Kind: kind, ID: d.ID, Route: d.Route, Attempt: d.Attempt}
}

// tell sends a request that has no reply.
func (c *Client) tell(s *session, r request) {
	line, err := r.line(c.dialer.MaxLineBytes)
	if err == nil {
		err = s.send(c.ctx, outgoing{line: line})
	}
	if err != nil {
		c.dialer.Logf("hyperdelay: %s of task %q on route %q: %v", r.Kind, r.ID, r.Route, err)
	}
}

// RetryAfter returns err with a delay. If a handler returns it, the task is due again after the
// delay instead of the server's backoff. err may be nil.
func RetryAfter(delay time.Duration, err error) error {
	return &retryAfter{delay, err}
}

type retryAfter struct {
	delay time.Duration
	err   error
}

func (r *retryAfter) Error() string {
	if r.err == nil {
		return fmt.Sprintf("retry after %v", r.delay)
	}
	return fmt.Sprintf("%v (retry after %v)", r.err, r.delay)
}

func (r *retryAfter) Unwrap() error { return r.err }
