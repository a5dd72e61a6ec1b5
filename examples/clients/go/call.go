package hyperdelay

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync/atomic"
)

// call is a request without a reply. It is sent on each session until the reply arrives.
type call struct {
	tag  uint64
	line []byte
	// bound is the only session on which the call may be sent; nil: any session.
	bound *session
	// abandoned calls have no caller any more; their reply may still arrive.
	abandoned bool
	// sent is where the call was written last; nil: nowhere.
	sent atomic.Pointer[place]
	// result has room for one result.
	result chan result
}

// place is a line of a session, numbered from 1 as the server counts.
type place struct {
	session *session
	line    uint64
}

type result struct {
	line []byte
	err  error
}

// finish ends the call. The goroutine that removed the call from Client.calls calls it once.
func (c *call) finish(line []byte, err error) { c.result <- result{line, err} }

// do sends a request, again after each reconnect, and decodes the reply. With bound it is sent on
// that session only.
func (c *Client) do(ctx context.Context, r request, bound *session, reply any) error {
	call, s, err := c.begin(&r, bound)
	if err != nil {
		return err
	}
	if s != nil {
		if err := s.send(ctx, outgoing{call.line, call}); err != nil && err == ctx.Err() {
			c.forget(call)
			return err
		}
	}
	return c.wait(ctx, call, r.Kind, reply)
}

// begin registers a call. It returns the session to send it on; without one, attach sends the call.
func (c *Client) begin(r *request, bound *session) (*call, *session, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, nil, ErrClosed
	}
	if bound != nil && bound != c.session {
		return nil, nil, ErrConnectionLost
	}
	c.lastTag++
	r.Tag = strconv.FormatUint(c.lastTag, 10)
	line, err := r.line(c.dialer.MaxLineBytes)
	if err != nil {
		return nil, nil, err
	}
	begun := &call{tag: c.lastTag, line: line, bound: bound, result: make(chan result, 1)}
	c.calls[begun.tag] = begun
	return begun, c.session, nil
}

func (c *Client) wait(ctx context.Context, call *call, kind string, reply any) error {
	select {
	case got := <-call.result:
		if got.err != nil {
			return got.err
		}
		if err := json.Unmarshal(got.line, reply); err != nil {
			return fmt.Errorf("hyperdelay: the reply to %s cannot be read: %w", kind, err)
		}
		return nil
	case <-ctx.Done():
		c.mu.Lock()
		call.abandoned = true
		if c.session == nil {
			delete(c.calls, call.tag)
		}
		c.mu.Unlock()
		return ctx.Err()
	}
}

// forget removes a call that was never sent.
func (c *Client) forget(call *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.calls, call.tag)
}

// answer ends the call or the listener that has the tag of the line.
func (c *Client) answer(h header, line []byte) {
	tag, err := strconv.ParseUint(h.Tag, 10, 64)
	if err != nil {
		return
	}
	var failure error
	if h.Kind == "error" {
		failure = asServerError(line)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.listeners {
		if l.tag == tag && failure != nil && codeOf(failure) != "shutting_down" {
			l.lose(failure)
		}
	}
	call := c.calls[tag]
	if call == nil || codeOf(failure) == "shutting_down" && call.bound == nil {
		return // The server shuts down. The next session sends the call again.
	}
	delete(c.calls, tag)
	call.finish(append([]byte(nil), line...), failure)
}

// takeError ends the call that an error without a tag refers to. The server had no tag: it could
// not read the line.
func (c *Client) takeError(s *session, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if call := c.refused(s, err); call != nil {
		delete(c.calls, call.tag)
		call.finish(nil, err)
		return
	}
	c.dialer.Logf("%v", err)
}

// refused returns the call that was sent on the line of the error, or nil. A server that speaks
// protocol 1 sends no line number; if a line was too long for it, that was surely the longest one.
func (c *Client) refused(s *session, err error) *call {
	e, ok := err.(*ServerError)
	if !ok || e.Line == 0 && e.Code != "line_too_long" {
		return nil
	}
	var longest *call
	for _, call := range c.calls {
		if at := call.sent.Load(); e.Line != 0 && at != nil && *at == (place{s, e.Line}) {
			return call
		}
		if longest == nil || len(call.line) > len(longest.line) {
			longest = call
		}
	}
	if e.Line != 0 {
		return nil
	}
	return longest
}
