package hyperdelay

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// A Handler does the work of a delivery. When it returns nil the delivery is acknowledged; after an error or a panic it is
// given back, and comes again after the server's backoff, or after the delay of RetryAfter. ctx is the one of Listen. A
// handler that takes longer than the server's ack_timeout_ms (30 s by default) sees its task again.
type Handler func(ctx context.Context, d *Delivery) error

// A Delivery is a copy of a task that the server sent to this client.
type Delivery struct {
	ID, Route string
	// FireAt is the time that was scheduled.
	FireAt      time.Time
	Payload     []byte
	Compression string
	// Attempt numbers the rounds of the task, from 1.
	Attempt int64

	client   *Client
	session  *session
	answered atomic.Bool
}

// Ack acknowledges the delivery within its handler, and returns when the server has answered: if removed, the task is gone
// from its disk and never comes again. It is for handlers that must know that; all others just return nil. What the handler
// returns after it has no effect.
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

// settle answers for what the handler returned, if it has not answered itself. Answers are not sent again on another
// session: a delivery ends with its own.
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

// answer names the delivery exactly.
func (d *Delivery) answer(kind string) request {
	return request{Kind: kind, ID: d.ID, Route: d.Route, Attempt: d.Attempt}
}

// tell sends what gets no answer.
func (c *Client) tell(s *session, r request) {
	line, err := r.line(c.dialer.MaxLineBytes)
	if err == nil {
		err = s.send(c.ctx, line)
	}
	if err != nil {
		c.dialer.Logf("hyperdelay: %s of task %q on route %q: %v", r.Kind, r.ID, r.Route, err)
	}
}

// RetryAfter is err with a delay, for a handler to return: the task is due again after it, instead of after the server's
// backoff. err may be nil.
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
