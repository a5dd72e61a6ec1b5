package hyperdelay

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func tokenFile(t *testing.T, token string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// authenticates answers a connection that must begin with the token.
func (f *fake) authenticates(token string) *peer {
	p := f.acceptRaw()
	if p == nil {
		return nil
	}
	auth := p.next("auth")
	if auth["token"] != token {
		p.t.Errorf("got %v, want the token %q", auth, token)
	}
	hello := p.next("hello")
	p.send(`{"kind":"authenticated","tag":%q}`, auth["tag"])
	p.send(`{"kind":"hello","protocol":2,"server":"fake 1","tag":%q}`, hello["tag"])
	return p
}

func (f *fake) dialWithToken(options Dialer, token string) (*Client, *peer) {
	f.t.Helper()
	options.MinBackoff, options.MaxBackoff = 1, 1
	accepted := later(func() *peer { return f.authenticates(token) })
	client, err := options.Dial(context.Background(), f.listener.Addr().String())
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { client.Close() })
	return client, await(f.t, accepted)
}

func TestTheTokenIsReadForEachConnectionAndPrecedesTheHello(t *testing.T) {
	fake := newFake(t)
	file := tokenFile(t, " hd_1_first\n")
	client, server := fake.dialWithToken(Dialer{TokenFile: file}, "hd_1_first")
	wantScheduled(t, client, server)
	if err := os.WriteFile(file, []byte("hd_2_\"second\""), 0o600); err != nil {
		t.Fatal(err)
	}
	server.conn.Close()
	server = fake.authenticates(`hd_2_"second"`)
	// Line 1 was the token, and line 2 the hello.
	done := scheduleLater(context.Background(), client, Task{ID: "a", Route: "r"})
	server.next("schedule")
	server.send(`{"kind":"error","code":"bad_json","message":"?","line":3}`)
	wantServerError(t, await(t, done).err, "bad_json")
}

func TestTheTokenComesFromTheEnvironmentUnlessAFileIsNamed(t *testing.T) {
	fake := newFake(t)
	t.Setenv(tokenFileVariable, tokenFile(t, "of its file"))
	fake.dialWithToken(Dialer{}, "of its file")
	t.Setenv(tokenVariable, "of the environment")
	fake.dialWithToken(Dialer{}, "of the environment")
	fake.dialWithToken(Dialer{TokenFile: tokenFile(t, "of the dialer")}, "of the dialer")
}

func TestATokenThatIsRefusedOrMissingIsAnError(t *testing.T) {
	fake := newFake(t)
	go func() {
		server := fake.acceptRaw()
		auth := server.next("auth")
		server.send(`{"kind":"error","code":"forbidden","message":"no","tag":%q}`, auth["tag"])
	}()
	dial := func(d Dialer) error {
		_, err := d.Dial(context.Background(), fake.listener.Addr().String())
		return err
	}
	wantServerError(t, dial(Dialer{TokenFile: tokenFile(t, "wrong")}), "forbidden")
	for _, file := range []string{"/missing/token", tokenFile(t, " \n")} {
		if err := dial(Dialer{TokenFile: file}); err == nil || !strings.Contains(err.Error(), file) {
			t.Error(err)
		}
	}
}

func TestAServerThatKnowsNoTokensIsGreetedAllTheSame(t *testing.T) {
	fake := newFake(t)
	accepted := later(func() *peer {
		server := fake.acceptRaw()
		for _, kind := range []string{"auth", "hello"} {
			got := server.next(kind)
			server.send(`{"kind":"error","code":"unknown_kind","message":"?","tag":%q}`, got["tag"])
		}
		server.old = true
		return server
	})
	client, err := (&Dialer{TokenFile: tokenFile(t, "x")}).Dial(context.Background(), fake.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	wantScheduled(t, client, await(t, accepted))
}

// far is a connection to another machine.
type far struct{ net.Conn }

func (far) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 7000} }

// near is a connection to the same machine.
type near struct{ net.Conn }

func (near) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv6loopback, Port: 7000} }

func TestATokenIsNotSentWithoutTLSToAnotherMachine(t *testing.T) {
	if err := checkSecret(far{}, false); err == nil || !strings.Contains(err.Error(), "Dialer.TLS") {
		t.Error(err)
	}
	if checkSecret(far{}, true) != nil || checkSecret(near{}, false) != nil {
		t.Error("refused")
	}
}
