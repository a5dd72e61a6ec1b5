package hyperdelay

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"testing"
	"time"
)

// patience is longer than any machine needs. Only a failing test waits this long.
const patience = 20 * time.Second

func init() {
	// Those of the machine are not for the fake.
	os.Unsetenv(tokenVariable)
	os.Unsetenv(tokenFileVariable)
}

// fake is a server on loopback. The test sends its lines.
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

// dial connects a client with short backoffs and accepts its connection.
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
	// old: the peer speaks protocol 1.
	old bool
}

// accept takes the next connection and answers its hello.
func (f *fake) accept() *peer {
	p := f.acceptRaw()
	if p != nil {
		hello := p.next("hello")
		if hello["protocol"] != 2.0 {
			p.t.Errorf("got %v, want protocol 2", hello)
		}
		p.send(`{"kind":"hello","protocol":2,"server":"fake 1","tag":%q}`, hello["tag"])
	}
	return p
}

// acceptAsOld takes the next connection as a server before protocol 2.
func (f *fake) acceptAsOld() *peer {
	p := f.acceptRaw()
	if p != nil {
		p.old = true
		hello := p.next("hello")
		p.send(`{"kind":"error","code":"unknown_kind","message":"kind is \"hello\"","tag":%q}`, hello["tag"])
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
	return &peer{t: f.t, conn: conn, reader: bufio.NewReader(conn)}
}

// next returns the next line, which must be of the kind. It answers and skips keepalive pings,
// which have no tag.
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

// register answers a registration and returns its line.
func (p *peer) register() map[string]any {
	p.t.Helper()
	got := p.next("register")
	p.send(`{"kind":"registered","route_key":%q,"credit":64,"tag":%q}`, got["route_key"], got["tag"])
	return got
}

// farewell answers the lines that a Listen sends when its context ends.
func (p *peer) farewell() {
	p.t.Helper()
	got := p.next("unregister")
	p.send(`{"kind":"unregistered","route_key":%q,"reason":"asked","tag":%q}`, got["route_key"], got["tag"])
	got = p.next("ping")
	p.send(`{"kind":"pong","tag":%q}`, got["tag"])
}

func (p *peer) acknowledge(schedule map[string]any) {
	p.t.Helper()
	kind := "scheduled"
	if p.old {
		kind = "ack"
	}
	p.send(`{"kind":%q,"id":%q,"route_key":%q,"fire_at":%.0f,"tag":%q}`,
		kind, schedule["id"], schedule["route_key"], schedule["fire_at"], schedule["tag"])
}

// later runs f in the background and returns a channel for its result.
func later[T any](f func() T) <-chan T {
	result := make(chan T, 1)
	go func() { result <- f() }()
	return result
}

// await returns the next value, or fails the test.
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
