package hyperdelay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"sync"
	"time"
)

// farewell bounds how long Listen waits for the server when it ends.
const farewell = 5 * time.Second

// ListenOption changes how Listen registers.
type ListenOption func(*request)

// Exclusive takes the route from all others who listen on it. Whoever registers for it later takes it away again.
func Exclusive() ListenOption {
	return func(r *request) { r.Mode = "exclusive" }
}

// listener is a Listen that runs. Its mutable fields belong to Client.mu.
type listener struct {
	tag     uint64
	line    []byte
	handler Handler
	ctx     context.Context
	// lost is closed, after err is set, when the route is.
	lost chan struct{}
	err  error
	// leaving listeners are not registered again, and stopped ones start no handlers any more.
	leaving, stopped bool
	stop             chan struct{}
	running          sync.WaitGroup
}

// lose is called with Client.mu held.
func (l *listener) lose(why error) {
	if l.err == nil {
		l.err = why
		close(l.lost)
	}
}

// Listen registers for the route and runs handler for each delivery, at most Dialer.Credit at a time over all routes. It
// stays registered over reconnects, and returns, always with an error, when
//
//   - ctx ends: it unregisters, waits for the handlers that run, sends their answers, and returns ctx.Err();
//   - the route is lost to another consumer: a *RouteLostError, after the handlers that run;
//   - the server refuses the registration: a *ServerError;
//   - the client is closed: ErrClosed.
//
// There is one Listen for a route on a client at a time.
func (c *Client) Listen(ctx context.Context, route string, handler Handler, options ...ListenOption) error {
	if route == "" {
		return errors.New("hyperdelay: the route is empty: name one of 1 to 128 bytes")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := request{Kind: "register", Route: route, Credit: c.dialer.Credit}
	for _, option := range options {
		option(&r)
	}
	l, s, err := c.listenOn(ctx, &r, handler)
	if err != nil {
		return err
	}
	if s != nil {
		// If the session or the context ends here the select below or the next session knows.
		_ = s.send(ctx, l.line)
	}
	select {
	case <-ctx.Done():
		err = ctx.Err()
		c.leave(route, l)
	case <-l.lost:
		err = l.err
	case <-c.ctx.Done():
		err = ErrClosed
		cancel()
	}
	c.finish(route, l)
	return err
}

func (c *Client) listenOn(ctx context.Context, r *request, handler Handler) (*listener, *session, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, nil, ErrClosed
	}
	if c.listeners[r.Route] != nil {
		return nil, nil, fmt.Errorf("hyperdelay: route %q is listened on already: end that first, or dial another client", r.Route)
	}
	c.lastTag++
	r.Tag = strconv.FormatUint(c.lastTag, 10)
	line, err := r.line(c.dialer.MaxLineBytes)
	if err != nil {
		return nil, nil, err
	}
	l := &listener{
		tag: c.lastTag, line: line, handler: handler, ctx: ctx,
		lost: make(chan struct{}), stop: make(chan struct{}),
	}
	c.listeners[r.Route] = l
	return l, c.session, nil
}

// leave unregisters. Until the server has read that, deliveries may come; they are handled as before, for one that is given
// back now could return at once.
func (c *Client) leave(route string, l *listener) {
	c.mu.Lock()
	l.leaving = true
	s := c.session
	c.mu.Unlock()
	if s == nil {
		return
	}
	ctx, cancel := context.WithTimeout(c.ctx, farewell)
	defer cancel()
	var reply struct{}
	if err := c.do(ctx, request{Kind: "unregister", Route: route}, s, &reply); err != nil {
		c.dialer.Logf("hyperdelay: unregister route %q: %v", route, err)
	}
}

// finish waits for the handlers that run, and until the server has read their answers.
func (c *Client) finish(route string, l *listener) {
	c.mu.Lock()
	l.leaving, l.stopped = true, true
	close(l.stop)
	c.mu.Unlock()
	l.running.Wait()

	c.mu.Lock()
	s := c.session
	delete(c.listeners, route)
	c.mu.Unlock()
	if s != nil {
		ctx, cancel := context.WithTimeout(c.ctx, farewell)
		defer cancel()
		var reply struct{}
		_ = c.do(ctx, request{Kind: "ping"}, s, &reply)
	}
}

// lose ends the Listen of a route that the server took away.
func (c *Client) lose(line []byte) {
	var gone unregisteredLine
	if err := json.Unmarshal(line, &gone); err != nil {
		c.dialer.Logf("hyperdelay: the line %.80q from the server was ignored: %v", line, err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.listeners[gone.Route]; l != nil && gone.Reason != "asked" {
		l.lose(&RouteLostError{Route: gone.Route, Reason: gone.Reason})
	}
}

// deliver starts a handler, or gives the delivery back. It does not wait.
func (c *Client) deliver(s *session, line []byte) {
	var got deliveryLine
	err := json.Unmarshal(line, &got)
	d := &Delivery{
		ID: got.ID, Route: got.Route, FireAt: time.UnixMilli(got.FireAt),
		Compression: got.Compression, Attempt: got.Attempt, client: c, session: s,
	}
	if err == nil {
		d.Payload, err = decodeBase64(got.Payload)
	}
	if err != nil {
		c.dialer.Logf("hyperdelay: the delivery %.80q cannot be read: %v", line, err)
		go d.settle(err)
		return
	}
	c.mu.Lock()
	l := c.listeners[d.Route]
	if l == nil || l.stopped {
		c.mu.Unlock()
		go d.settle(RetryAfter(0, nil))
		return
	}
	l.running.Add(1)
	c.mu.Unlock()
	go func() {
		defer l.running.Done()
		c.handle(l, d)
	}()
}

// handle runs the handler when there is a slot for it. More deliveries than the credit may wait for one: the server forgets
// those that were not answered in time, while their handlers still run here.
func (c *Client) handle(l *listener, d *Delivery) {
	if c.waiting.Add(1) > int64(c.dialer.Credit) {
		c.waiting.Add(-1)
		d.settle(errors.New("too many deliveries wait for a handler"))
		return
	}
	select {
	case c.slots <- struct{}{}:
		c.waiting.Add(-1)
	case <-d.session.done:
		c.waiting.Add(-1)
		return
	case <-l.stop:
		c.waiting.Add(-1)
		d.settle(RetryAfter(0, nil))
		return
	}
	defer func() { <-c.slots }()
	failure := protect(l, d)
	if failure != nil {
		c.dialer.Logf("hyperdelay: the handler of task %q on route %q, attempt %d: %v", d.ID, d.Route, d.Attempt, failure)
	}
	d.settle(failure)
}

// protect makes an error of a panic.
func protect(l *listener, d *Delivery) (failure error) {
	defer func() {
		if p := recover(); p != nil {
			failure = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return l.handler(l.ctx, d)
}
