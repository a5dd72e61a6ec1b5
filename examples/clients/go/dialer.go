package hyperdelay

import (
	"context"
	"fmt"
	"net"
	"time"
)

// A Dialer contains the options of a client. The zero value of a field means its default.
type Dialer struct {
	// Credit is the maximum number of deliveries in flight and of running handlers, 1 to 65,535.
	// Default: 64.
	Credit int
	// MaxLineBytes is the maximum length of a line in both directions: the server's max_line_bytes.
	// Default: 65,536.
	MaxLineBytes int
	// MinBackoff and MaxBackoff bound the wait before the next connection attempt. Defaults: 100 ms
	// and 10 s.
	MinBackoff, MaxBackoff time.Duration
	// Timeout bounds one connection attempt, including the reply to hello. Default: 10 s.
	Timeout time.Duration
	// KeepAlive is the silence after which the client sends a ping. After twice that time the
	// connection is lost. Default: 15 s.
	KeepAlive time.Duration
	// TLS encrypts the connection. Default: it is plain.
	TLS *TLS
	// TokenFile is a file with the token of this client. It is read for each connection, so that the
	// token can be renewed. Default: the token in the environment variable HYPER_DELAY_TOKEN, or else in the
	// file that HYPER_DELAY_TOKEN_FILE names, or no token. A token is sent over TLS, or to the same machine.
	TokenFile string
	// Compress is how the payloads of scheduled tasks are compressed: LZ4 or Zstd. Payloads under 256
	// bytes are not, nor those that would not become smaller, nor those of a task with a Compression of
	// its own. Default: None.
	Compress string
	// KeepCompressed delivers payloads as they are stored. Default: a Delivery has its payload
	// decompressed, and one that does not decompress is given back.
	KeepCompressed bool
	// MaxPayloadBytes is the maximum length of a payload that is decompressed. Default: 16 MiB.
	MaxPayloadBytes int
	// Logf receives what no call returns: a lost connection, a handler's error, an unreadable line. It
	// may be called from several goroutines. Default: no log.
	Logf func(format string, args ...any)
}

// Dial connects to a server with the default options. addr is a host and a port, for example
// "127.0.0.1:7000".
func Dial(ctx context.Context, addr string) (*Client, error) {
	return new(Dialer).Dial(ctx, addr)
}

// Dial connects to a server and waits for the reply to hello. It tries once, as an error here
// usually means a wrong address. After that the client reconnects by itself until it is closed. ctx
// is for Dial only.
func (d *Dialer) Dial(ctx context.Context, addr string) (*Client, error) {
	filled, err := d.filled()
	if err != nil {
		return nil, err
	}
	s, err := filled.open(ctx, addr)
	if err != nil {
		return nil, fmt.Errorf("hyperdelay: dial %q: %w", addr, err)
	}
	c, err := newClient(addr, filled)
	if err != nil {
		s.end(err)
		return nil, err
	}
	go c.run(s)
	return c, nil
}

// filled returns the dialer with defaults for its zero values.
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
	if f.Compress != "" && f.Compress != None && f.Compress != LZ4 && f.Compress != Zstd {
		return f, fmt.Errorf("hyperdelay: Compress is %q: take %q, %q or %q", f.Compress, None, LZ4, Zstd)
	}
	if f.MaxPayloadBytes == 0 {
		f.MaxPayloadBytes = 16 << 20
	}
	if f.MaxPayloadBytes < 0 {
		return f, fmt.Errorf("hyperdelay: MaxPayloadBytes is %d: take a positive number", f.MaxPayloadBytes)
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

// open connects and sends the token, if there is one, and hello.
func (d *Dialer) open(ctx context.Context, addr string) (*session, error) {
	ctx, cancel := context.WithTimeout(ctx, d.Timeout)
	defer cancel()
	token, err := d.token()
	if err != nil {
		return nil, err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	if token != "" {
		if err := checkSecret(conn, d.TLS != nil); err != nil {
			conn.Close()
			return nil, err
		}
	}
	if d.TLS != nil {
		secured, err := d.TLS.secure(ctx, conn, addr)
		if err != nil {
			conn.Close()
			return nil, err
		}
		conn = secured
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
	err = s.hello(token)
	close(met)
	<-watched
	if cause := s.cause(); cause != nil {
		err = fmt.Errorf("no reply to hello: %w", cause)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return s, nil
}
