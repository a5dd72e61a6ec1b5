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

// farewell bounds the time that Listen waits for the server when it ends.
const farewell = 5 * time.Second

// ListenOption changes how Listen registers.
type ListenOption func(*request)

// Exclusive takes the route from all other consumers. A later registration takes it away again.
func Exclusive() ListenOption {
	return func(r *request) { r.Mode = "exclusive" }
}

// listener is a running Listen. Client.mu protects its mutable fields.
type listener struct {
	tag     uint64
	line    []byte
	handler Handler
	ctx     context.Context
	// lost is closed when the route is lost, after err is set.
	lost chan struct{}
	err  error
	// leaving listeners are not registered again; stopped ones start no handlers.
	leaving, stopped bool
	stop             chan struct{}
	running          sync.WaitGroup
}

// lose ends the listener. The caller holds Client.mu.
func (l *listener) lose(why error) {
	if l.err == nil {
		l.err = why
		close(l.lost)
	}
}

// Listen registers the route and runs handler for each delivery, at most Dialer.Credit at a time
// over all routes. It stays registered over reconnects. It returns, always with an error, when
//
//   - ctx ends: it unregisters, waits for the running handlers, sends their answers, and returns
//     ctx.Err();
//   - another consumer takes the route: a *RouteLostError, after the running handlers;
//   - the server refuses the registration: a *ServerError;
//   - the client is closed: ErrClosed.
//
// A client has at most one Listen for a route at a time.
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
		// If the session or the context has ended, the select below or the next session handles it.
		_ = s.send(ctx, outgoing{line: l.line})
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
		return nil, nil, fmt.Errorf("hyperdelay: this client already listens on route %q: end that first, or dial another client", r.Route)
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

// leave unregisters the route. Deliveries that arrive before the server has read this are still
// handled: if they were given back, they could return at once.
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

// finish waits for the running handlers and until the server has read their answers.
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

// lose ends the Listen of a route that the server unregistered.
func (c *Client) lose(line []byte) {
	var gone unregisteredLine
	if err := json.Unmarshal(line, &gone); err != nil {
		c.dialer.Logf("hyperdelay: ignored the line %.80q from the server: %v", line, err)
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
		Compression: got.Compression, Attempt: got.Attempt, Headers: got.Headers, client: c, session: s,
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
		go d.settle(Unharmed(RetryAfter(0, nil)))
		return
	}
	l.running.Add(1)
	c.mu.Unlock()
	go func() {
		defer l.running.Done()
		c.handle(l, d)
	}()
}

// handle runs the handler in a slot. More deliveries than the credit can wait for a slot: the
// server counts a delivery until its ack timeout, while its handler may run longer.
func (c *Client) handle(l *listener, d *Delivery) {
	if c.waiting.Add(1) > int64(c.dialer.Credit) {
		c.waiting.Add(-1)
		d.settle(Unharmed(errors.New("too many deliveries wait for a handler")))
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
		d.settle(Unharmed(RetryAfter(0, nil)))
		return
	}
	defer func() { <-c.slots }()
	var failure error
	if d.Payload, d.Compression, failure = c.compression.decompress(d.Payload, d.Compression); failure == nil {
		failure = protect(l, d)
	}
	if err := l.ctx.Err(); err != nil && errors.Is(failure, err) {
		failure = Unharmed(failure)
		// Given back while the route is registered, the task could return to this client at once.
		<-l.stop
	}
	if failure != nil {
		c.dialer.Logf("hyperdelay: the handler of task %q on route %q, attempt %d: %v", d.ID, d.Route, d.Attempt, failure)
	}
	d.settle(failure)
}

// protect turns a panic into an error.
func protect(l *listener, d *Delivery) (failure error) {
	defer func() {
		if p := recover(); p != nil {
			failure = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return l.handler(l.ctx, d)
}
