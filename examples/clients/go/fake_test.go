package hyperdelay

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"
)

// patience is for what should come at once; no test waits for it to pass.
const patience = 20 * time.Second

// fake is a server on loopback that a test speaks for, in raw lines.
type fake struct {
	t        *testing.T
	listener net.Listener
}

func newFake(t *testing.T) *fake {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return &fake{t, listener}
}

// dial connects a client, with options that make a test quick, and accepts it.
func (f *fake) dial(options Dialer) (*Client, *peer) {
	f.t.Helper()
	options.MinBackoff, options.MaxBackoff = time.Millisecond, 10*time.Millisecond
	accepted := make(chan *peer, 1)
	go func() { accepted <- f.accept() }()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client, err := options.Dial(ctx, f.listener.Addr().String())
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { client.Close() })
	return client, <-accepted
}

// peer is the fake's end of a connection.
type peer struct {
	t      *testing.T
	conn   net.Conn
	reader *bufio.Reader
}

// accept takes the next connection and answers its hello.
func (f *fake) accept() *peer {
	p := f.acceptRaw()
	if p != nil {
		hello := p.next("ping")
		p.send(`{"kind":"pong","tag":%q}`, hello["tag"])
	}
	return p
}

func (f *fake) acceptRaw() *peer {
	conn, err := f.listener.Accept()
	if err != nil {
		f.t.Error(err)
		return nil
	}
	f.t.Cleanup(func() { conn.Close() })
	return &peer{f.t, conn, bufio.NewReader(conn)}
}

// next is the next line, which must be of the kind. Pings that keep the connection alive, without a tag, are passed over.
func (p *peer) next(kind string) map[string]any {
	p.t.Helper()
	for {
		_ = p.conn.SetReadDeadline(time.Now().Add(patience))
		line, err := p.reader.ReadBytes('\n')
		if err != nil {
			p.t.Errorf("waiting for %s: %v", kind, err)
			return map[string]any{}
		}
		var got map[string]any
		if err := json.Unmarshal(line, &got); err != nil {
			p.t.Errorf("%q: %v", line, err)
		}
		if got["kind"] == "ping" && got["tag"] == nil {
			p.send(`{"kind":"pong"}`)
			continue
		}
		if got["kind"] != kind {
			p.t.Errorf("waiting for %s: got %s", kind, line)
		}
		return got
	}
}

func (p *peer) send(format string, args ...any) {
	p.t.Helper()
	if _, err := fmt.Fprintf(p.conn, format+"\n", args...); err != nil {
		p.t.Error(err)
	}
}

// register answers a registration, and gives its line.
func (p *peer) register() map[string]any {
	p.t.Helper()
	got := p.next("register")
	p.send(`{"kind":"registered","route_key":%q,"credit":64,"tag":%q}`, got["route_key"], got["tag"])
	return got
}

// farewell answers what a Listen sends when it ends by its context.
func (p *peer) farewell() {
	p.t.Helper()
	got := p.next("unregister")
	p.send(`{"kind":"unregistered","route_key":%q,"reason":"asked","tag":%q}`, got["route_key"], got["tag"])
	got = p.next("ping")
	p.send(`{"kind":"pong","tag":%q}`, got["tag"])
}

func (p *peer) acknowledge(schedule map[string]any) {
	p.t.Helper()
	p.send(`{"kind":"ack","id":%q,"route_key":%q,"fire_at":%.0f,"tag":%q}`,
		schedule["id"], schedule["route_key"], schedule["fire_at"], schedule["tag"])
}

// later runs f in the background and gives its result.
func later[T any](f func() T) <-chan T {
	result := make(chan T, 1)
	go func() { result <- f() }()
	return result
}

// await is the value that must come.
func await[T any](t *testing.T, values <-chan T) T {
	t.Helper()
	select {
	case value := <-values:
		return value
	case <-time.After(patience):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}

// wantServerError fails unless err is a ServerError of the code.
func wantServerError(t *testing.T, err error, code string) {
	t.Helper()
	var server *ServerError
	if !errors.As(err, &server) || server.Code != code {
		t.Fatalf("got %v, want a ServerError of the code %s", err, code)
	}
}
