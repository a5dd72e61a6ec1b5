package hyperdelay

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestRoutesAreRegisteredAgainAfterAReconnect(t *testing.T) {
	fake := newFake(t)
	client, server := fake.dial(Dialer{})
	listenLater(t, client, "r", func(context.Context, *Delivery) error { return nil })
	server.register()
	for i := 0; i < 3; i++ {
		server.conn.Close()
		server = fake.accept()
		server.register()
		server.deliver("r", "a", 2)
		wantAnswer(t, server.next("ack"), "a", 2)
	}
}

func TestAnAnswerEndsWithTheConnectionOfItsDelivery(t *testing.T) {
	fake := newFake(t)
	client, server := fake.dial(Dialer{})
	began, finish := make(chan struct{}, 1), make(chan struct{})
	ends := make(chan error, 1)
	listenLater(t, client, "r", func(ctx context.Context, d *Delivery) error {
		began <- struct{}{}
		<-finish
		if d.ID == "confirmed" {
			_, err := d.Ack(ctx)
			ends <- err
		}
		return nil
	})
	server.register()
	server.deliver("r", "plain", 1)
	await(t, began)
	server.deliver("r", "confirmed", 1)
	await(t, began)
	server.conn.Close()
	server = fake.accept()
	server.register()
	close(finish)
	if err := await(t, ends); err != ErrConnectionLost {
		t.Fatal(err)
	}
	// No ack of either is sent on the new connection.
	go client.Ping(context.Background())
	server.next("ping")
}

func TestTheClientReconnectsUntilTheServerAccepts(t *testing.T) {
	fake := newFake(t)
	client, server := fake.dial(Dialer{})
	listenLater(t, client, "r", nil)
	server.register()
	server.conn.Close()
	fake.acceptRaw().conn.Close()
	refused := fake.acceptRaw()
	refused.send(`{"kind":"error","code":"too_many_connections","message":"later"}`)
	refused.conn.Close()
	fake.accept().register()
}

func TestDialReturnsWhyTheServerRefuses(t *testing.T) {
	fake := newFake(t)
	refused := later(func() *peer {
		server := fake.acceptRaw()
		server.send(`{"kind":"error","code":"too_many_connections","message":"later"}`)
		return server
	})
	_, err := Dial(context.Background(), fake.listener.Addr().String())
	wantServerError(t, err, "too_many_connections")
	await(t, refused)

	go func() {
		server := fake.acceptRaw()
		server.next("hello")
		server.conn.Close()
	}()
	_, err = Dial(context.Background(), fake.listener.Addr().String())
	if err == nil || !strings.Contains(err.Error(), "allowed_hosts") {
		t.Fatal(err)
	}
}

func TestDialEndsWithItsContext(t *testing.T) {
	fake := newFake(t)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		fake.acceptRaw().next("hello")
		cancel()
	}()
	if _, err := Dial(ctx, fake.listener.Addr().String()); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

func TestASilentConnectionIsClosed(t *testing.T) {
	fake := newFake(t)
	client, server := fake.dial(Dialer{KeepAlive: 20 * time.Millisecond})
	listenLater(t, client, "r", nil)
	server.next("register")
	// The fake answers no ping and keeps the connection open.
	fake.accept().register()
}

func TestCloseEndsPendingCallsAndListen(t *testing.T) {
	client, server := newFake(t).dial(Dialer{})
	done := scheduleLater(context.Background(), client, Task{Route: "r"})
	server.next("schedule")
	listening, _ := listenLater(t, client, "r", nil)
	server.register()
	client.Close()
	if got := await(t, done); !errors.Is(got.err, ErrClosed) {
		t.Fatal(got.err)
	}
	if err := await(t, listening); err != ErrClosed {
		t.Fatal(err)
	}
	if err := client.Ping(context.Background()); err != ErrClosed {
		t.Fatal(err)
	}
	client.Close()
}

func TestBackoffDoublesUpToItsMaximumAndIsDrawnFromItsUpperHalf(t *testing.T) {
	wait := newBackoff(100*time.Millisecond, time.Second)
	for _, top := range []time.Duration{100, 200, 400, 800, 1000, 1000} {
		top *= time.Millisecond
		if got := wait.next(); got < top/2 || got > top {
			t.Errorf("%v is not within %v and %v", got, top/2, top)
		}
	}
	wait.reset()
	if got := wait.next(); got > 100*time.Millisecond {
		t.Error(got)
	}
}
