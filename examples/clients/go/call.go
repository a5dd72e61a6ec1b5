package hyperdelay

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
)

// call is a request that waits for its answer, over as many sessions as it takes.
type call struct {
	tag  uint64
	line []byte
	// bound is the only session that the call makes sense on, if there is one.
	bound *session
	// abandoned calls have nobody who waits, but an answer that is still to come.
	abandoned bool
	// result has room for the one result that there is.
	result chan result
}

type result struct {
	line []byte
	err  error
}

// finish is called once, by whoever took the call from Client.calls.
func (c *call) finish(line []byte, err error) { c.result <- result{line, err} }

// do sends a request, again after a reconnect, and decodes its answer into reply. With bound it is sent on that session only.
func (c *Client) do(ctx context.Context, r request, bound *session, reply any) error {
	call, s, err := c.begin(&r, bound)
	if err != nil {
		return err
	}
	if s != nil {
		if err := s.send(ctx, call.line); err != nil && err == ctx.Err() {
			c.forget(call)
			return err
		}
	}
	return c.wait(ctx, call, r.Kind, reply)
}

// begin makes a call known. If there is a session now the caller sends it; else attach will.
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
			return fmt.Errorf("hyperdelay: the answer to %s cannot be read: %w", kind, err)
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

// forget drops a call that was never sent.
func (c *Client) forget(call *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.calls, call.tag)
}

// answer takes a line with a tag to whoever asked.
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
		return // The session is about to end; the next one sends it again.
	}
	delete(c.calls, tag)
	call.finish(append([]byte(nil), line...), failure)
}

// takeError finds whom an error without a tag is for. When a line was too long for the server it could not read the tag; but
// then the longest of the lines under way was too long for sure.
func (c *Client) takeError(err error) {
	if codeOf(err) == "line_too_long" {
		c.mu.Lock()
		defer c.mu.Unlock()
		var longest *call
		for _, call := range c.calls {
			if longest == nil || len(call.line) > len(longest.line) {
				longest = call
			}
		}
		if longest != nil {
			delete(c.calls, longest.tag)
			longest.finish(nil, err)
			return
		}
	}
	c.dialer.Logf("%v", err)
}
