package hyperdelay

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

// A Handler does the work of a delivery. If it returns nil, the delivery is acknowledged. After an
// error or a panic it is given back and arrives again after the server's backoff, or after the
// delay of RetryAfter; with Unharmed it has not failed. ctx is that of Listen. If the handler takes longer than the server's
// ack_timeout_ms (default: 30 s), the task arrives again.
type Handler func(ctx context.Context, d *Delivery) error

// A Delivery is a copy of a task for this client.
type Delivery struct {
	ID, Route string
	// FireAt is the scheduled time.
	FireAt time.Time
	// Payload is decompressed, unless Dialer.KeepCompressed is set.
	Payload []byte
	// Compression is that of Payload: None if it is decompressed.
	Compression string
	// Attempt is the number of the task's round, from 1.
	Attempt int64
	// Headers are those of the task; nil if it has none.
	Headers map[string]string

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

// Touch extends the time for the answer, to extend from now, or with 0 to the ack timeout of the
// task. It returns when that time is over. If the delivery has been answered or has timed out, the
// error is ErrAnswered.
func (d *Delivery) Touch(ctx context.Context, extend time.Duration) (time.Time, error) {
	if d.answered.Load() {
		return time.Time{}, ErrAnswered
	}
	var reply struct {
		Found    bool  `json:"found"`
		Deadline int64 `json:"deadline"`
	}
	r := d.answer("touch")
	r.ExtendMS = millis(extend)
	if err := d.client.do(ctx, r, d.session, &reply); err != nil {
		return time.Time{}, err
	}
	if !reply.Found {
		return time.Time{}, ErrAnswered
	}
	return time.UnixMilli(reply.Deadline), nil
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
	var unharmed *unharmed
	if errors.As(failure, &unharmed) {
		r.Failed = new(bool)
	}
	var retry *retryAfter
	if errors.As(failure, &retry) {
		ms := int64(retry.delay / time.Millisecond)
		if ms < 0 {
			ms = 0
		}
		r.DelayMS = &ms
		failure = retry.err
	}
	if errors.As(failure, &unharmed) {
		failure = unharmed.err
	}
	if failure != nil {
		r.Reason = reason(failure.Error())
	}
	d.client.tell(d.session, r)
}

// reason returns the first line of a text for operators, of at most 256 bytes.
func reason(text string) string {
	text, _, _ = strings.Cut(strings.ToValidUTF8(text, "?"), "\n")
	const most = 256
	if len(text) <= most {
		return text
	}
	end := most
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
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

// Unharmed returns err as one that is no failure of the task: it does not count for the task's
// maximum of attempts. Other consumers get the task at once, and this one after its first backoff, or
// all after the delay of RetryAfter. From the eleventh time in a row on it counts. A handler returns
// it that cannot begin: its consumer is about to end, or is not the right one. err may be nil.
//
// A handler that returns the error of its context while Listen ends has done so, too.
func Unharmed(err error) error {
	return &unharmed{err}
}

type unharmed struct{ err error }

func (u *unharmed) Error() string {
	if u.err == nil {
		return "given back unharmed"
	}
	return fmt.Sprintf("%v (given back unharmed)", u.err)
}

func (u *unharmed) Unwrap() error { return u.err }

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
