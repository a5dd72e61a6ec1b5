package hyperdelay

import (
	"context"
	"encoding/json"
	"sort"
	"sync"
	"sync/atomic"
)

// A Client is a connection to a server. It reconnects when the connection is lost. Its methods may
// be called from many goroutines.
type Client struct {
	addr        string
	dialer      Dialer
	compression *compression
	// ctx ends with Close; ended is closed after the last session.
	ctx    context.Context
	cancel context.CancelFunc
	ended  chan struct{}
	// slots holds one value for each running handler; waiting counts the deliveries that wait for a
	// slot.
	slots   chan struct{}
	waiting atomic.Int64

	mu      sync.Mutex
	closed  bool
	lastTag uint64
	// session is nil while there is no connection.
	session   *session
	calls     map[uint64]*call
	listeners map[string]*listener
}

func newClient(addr string, d Dialer) (*Client, error) {
	compression, err := newCompression(&d)
	if err != nil {
		return nil, err
	}
	c := &Client{
		addr:        addr,
		dialer:      d,
		compression: compression,
		ended:       make(chan struct{}),
		slots:       make(chan struct{}, d.Credit),
		calls:       make(map[uint64]*call),
		listeners:   make(map[string]*listener),
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c, nil
}

// Close closes the connection. Pending calls and Listen return ErrClosed, and the server delivers
// again what is in flight. To avoid that, end Listen by its context first.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	s := c.session
	calls := c.calls
	c.calls = make(map[uint64]*call)
	c.mu.Unlock()

	c.cancel()
	if s != nil {
		s.end(ErrClosed)
	}
	<-c.ended
	for _, call := range calls {
		call.finish(nil, ErrClosed)
	}
	return nil
}

// run serves one session after another until the client is closed.
func (c *Client) run(s *session) {
	defer close(c.ended)
	wait := newBackoff(c.dialer.MinBackoff, c.dialer.MaxBackoff)
	for s != nil {
		if first, open := c.attach(s); open {
			go s.write(first)
			go s.keepAlive(c.dialer.KeepAlive)
			s.read(func(line []byte) { c.take(s, line) })
		} else {
			s.end(ErrClosed)
		}
		c.detach(s)
		if c.ctx.Err() == nil {
			c.dialer.Logf("hyperdelay: the connection to %s was lost: %v", c.addr, s.cause())
		}
		s = c.reopen(wait)
	}
}

// reopen connects until it succeeds. It returns nil if the client is closed.
func (c *Client) reopen(wait *backoff) *session {
	for pause(c.ctx, wait.next()) {
		s, err := c.dialer.open(c.ctx, c.addr)
		if err == nil {
			wait.reset()
			return s
		}
		c.dialer.Logf("hyperdelay: connect to %s again: %v", c.addr, err)
	}
	return nil
}

// attach makes s the session of the client. It returns the lines to send first: the registrations,
// then the calls without a reply, in their order.
func (c *Client) attach(s *session) (first []outgoing, open bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, false
	}
	c.session = s
	for _, l := range c.listeners {
		if !l.leaving {
			first = append(first, outgoing{line: l.line})
		}
	}
	again := make([]*call, 0, len(c.calls))
	for _, call := range c.calls {
		again = append(again, call)
	}
	sort.Slice(again, func(i, j int) bool { return again[i].tag < again[j].tag })
	for _, call := range again {
		first = append(first, outgoing{call.line, call})
	}
	return first, true
}

// detach ends the calls that are bound to the session.
func (c *Client) detach(s *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session = nil
	for tag, call := range c.calls {
		if call.abandoned || call.bound == s {
			delete(c.calls, tag)
			call.finish(nil, ErrConnectionLost)
		}
	}
}

// take handles a line. It ignores unknown kinds.
func (c *Client) take(s *session, line []byte) {
	var h header
	if err := json.Unmarshal(line, &h); err != nil {
		c.dialer.Logf("hyperdelay: ignored the line %.80q from the server: %v", line, err)
		return
	}
	switch {
	case h.Kind == "delivery":
		c.deliver(s, line)
	case h.Tag != "":
		c.answer(h, line)
	case h.Kind == "unregistered":
		c.lose(line)
	case h.Kind == "error":
		c.takeError(s, asServerError(line))
	}
}
