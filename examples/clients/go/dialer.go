package hyperdelay

import (
	"context"
	"fmt"
	"net"
	"time"
)

// A Dialer has the options of a client. The zero value of each field means its default.
type Dialer struct {
	// Credit is how many deliveries may be in flight on the connection, and how many handlers run at a time: 1 to 65,535, by
	// default 64.
	Credit int
	// MaxLineBytes is the longest line that is sent or taken, 65,536 by default: the server's max_line_bytes.
	MaxLineBytes int
	// MinBackoff and MaxBackoff bound the wait before the connection is tried again: by default 100 ms and 10 s.
	MinBackoff, MaxBackoff time.Duration
	// Timeout is for one try to connect, until the server has answered a ping: by default 10 s.
	Timeout time.Duration
	// KeepAlive is the silence after which the client sends a ping; after twice that the connection counts as lost. By
	// default 15 s.
	KeepAlive time.Duration
	// Logf is told what no call returns: a lost connection, a handler's error, a line that was not understood. By default
	// nobody is. It may be called from several goroutines.
	Logf func(format string, args ...any)
}

// Dial connects with the default options to a server, "127.0.0.1:7000" for one.
func Dial(ctx context.Context, addr string) (*Client, error) {
	return new(Dialer).Dial(ctx, addr)
}

// Dial connects to a server and makes sure that it answers. It tries once: an error here is more often a wrong address than a
// server that is away. From then on the client connects again by itself, until it is closed. ctx is for Dial only.
func (d *Dialer) Dial(ctx context.Context, addr string) (*Client, error) {
	filled, err := d.filled()
	if err != nil {
		return nil, err
	}
	s, err := filled.open(ctx, addr)
	if err != nil {
		return nil, fmt.Errorf("hyperdelay: dial %q: %w", addr, err)
	}
	c := newClient(addr, filled)
	go c.run(s)
	return c, nil
}

// filled is the dialer with its defaults.
func (d *Dialer) filled() (Dialer, error) {
	f := *d
	if f.Credit == 0 {
		f.Credit = 64
	}
	if f.Credit < 1 || f.Credit > 65535 {
		return f, fmt.Errorf("hyperdelay: Credit is %d: take 1 to 65535", f.Credit)
	}
	if f.MaxLineBytes == 0 {
		f.MaxLineBytes = 65536
	}
	if f.MaxLineBytes < 1024 {
		return f, fmt.Errorf("hyperdelay: MaxLineBytes is %d: take at least 1024", f.MaxLineBytes)
	}
	for _, field := range []struct {
		name     string
		value    *time.Duration
		fallback time.Duration
	}{
		{"MinBackoff", &f.MinBackoff, 100 * time.Millisecond},
		{"MaxBackoff", &f.MaxBackoff, 10 * time.Second},
		{"Timeout", &f.Timeout, 10 * time.Second},
		{"KeepAlive", &f.KeepAlive, 15 * time.Second},
	} {
		if *field.value == 0 {
			*field.value = field.fallback
		}
		if *field.value < 0 {
			return f, fmt.Errorf("hyperdelay: %s is %v: take a positive duration", field.name, *field.value)
		}
	}
	if f.Logf == nil {
		f.Logf = func(string, ...any) {}
	}
	return f, nil
}

// open connects and says hello.
func (d *Dialer) open(ctx context.Context, addr string) (*session, error) {
	ctx, cancel := context.WithTimeout(ctx, d.Timeout)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	s := newSession(conn, d)
	met := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-ctx.Done():
			s.end(ctx.Err())
		case <-met:
		}
	}()
	err = s.hello()
	close(met)
	<-watched
	if cause := s.cause(); cause != nil {
		err = fmt.Errorf("no answer to a ping: %w", cause)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return s, nil
}
