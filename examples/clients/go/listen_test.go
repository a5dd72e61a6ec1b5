package hyperdelay

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"
)

// listenLater listens until the test ends or stop is called.
func listenLater(t *testing.T, client *Client, route string, handler Handler, options ...ListenOption) (<-chan error, func()) {
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	return later(func() error { return client.Listen(ctx, route, handler, options...) }), stop
}

func (p *peer) deliver(route, id string, attempt int) {
	p.t.Helper()
	p.send(`{"kind":"delivery","id":%q,"route_key":%q,"fire_at":5,"payload_base64":"aGk","compression":"none","attempt":%d,"new":[1]}`,
		id, route, attempt)
}

// wantAnswer fails unless the answer names the delivery exactly.
func wantAnswer(t *testing.T, got map[string]any, id string, attempt float64) {
	t.Helper()
	if got["id"] != id || got["route_key"] != "r" || got["attempt"] != attempt {
		t.Fatalf("got %v", got)
	}
}

func TestADeliveryIsAcknowledgedAfterItsHandlerReturns(t *testing.T) {
	client, server := newFake(t).dial(Dialer{Credit: 7})
	began, finish := make(chan *Delivery), make(chan struct{})
	listenLater(t, client, "r", func(_ context.Context, d *Delivery) error {
		began <- d
		<-finish
		return nil
	})
	if got := server.register(); got["credit"] != 7.0 || got["mode"] != nil {
		t.Fatal(got)
	}
	server.deliver("r", "a", 3)
	d := await(t, began)
	if d.ID != "a" || d.Route != "r" || string(d.Payload) != "hi" || d.Compression != None || d.Attempt != 3 ||
		!d.FireAt.Equal(time.UnixMilli(5)) {
		t.Fatalf("%+v", d)
	}
	// An early ack would arrive before this ping.
	go client.Ping(context.Background())
	server.next("ping")
	close(finish)
	got := server.next("ack")
	wantAnswer(t, got, "a", 3)
	if got["confirm"] != nil {
		t.Fatal(got)
	}
}

func TestADeliveryIsGivenBackAfterAnErrorOrAPanic(t *testing.T) {
	client, server := newFake(t).dial(Dialer{})
	listenLater(t, client, "r", func(_ context.Context, d *Delivery) error {
		switch d.ID {
		case "error":
			return errors.New("no")
		case "delay":
			return fmt.Errorf("wrapped: %w", RetryAfter(5*time.Second, errors.New("no")))
		default:
			panic("no")
		}
	})
	server.register()
	server.deliver("r", "error", 1)
	got := server.next("nack")
	wantAnswer(t, got, "error", 1)
	if _, has := got["delay_ms"]; has {
		t.Fatal(got)
	}
	server.deliver("r", "delay", 2)
	got = server.next("nack")
	wantAnswer(t, got, "delay", 2)
	if got["delay_ms"] != 5000.0 {
		t.Fatal(got)
	}
	server.deliver("r", "panic", 1)
	got = server.next("nack")
	wantAnswer(t, got, "panic", 1)
	if _, has := got["failed"]; has {
		t.Fatal(got)
	}
}

func TestADeliveryThatIsGivenBackUnharmedHasNotFailed(t *testing.T) {
	client, server := newFake(t).dial(Dialer{})
	no := errors.New("no")
	failures := map[string]error{
		"plain":   Unharmed(nil),
		"wrapped": fmt.Errorf("wrapped: %w", Unharmed(no)),
		"inside":  Unharmed(RetryAfter(time.Second, no)),
		"outside": RetryAfter(time.Second, Unharmed(no)),
	}
	listenLater(t, client, "r", func(_ context.Context, d *Delivery) error { return failures[d.ID] })
	server.register()
	for _, id := range []string{"plain", "wrapped", "inside", "outside"} {
		server.deliver("r", id, 1)
		got := server.next("nack")
		wantAnswer(t, got, id, 1)
		if got["failed"] != false {
			t.Fatal(got)
		}
		if delay, has := got["delay_ms"]; has != (id == "inside" || id == "outside") || has && delay != 1000.0 {
			t.Fatal(got)
		}
		if reason := got["reason"]; id == "plain" && reason != nil || id != "plain" && reason != "no" {
			t.Fatal(got)
		}
	}
}

func TestAHandlerThatEndsWithItsListenHasNotFailed(t *testing.T) {
	client, server := newFake(t).dial(Dialer{})
	began := make(chan struct{})
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- client.Listen(ctx, "r", func(ctx context.Context, _ *Delivery) error {
			close(began)
			<-ctx.Done()
			return fmt.Errorf("half done: %w", ctx.Err())
		})
	}()
	server.register()
	server.deliver("r", "a", 1)
	await(t, began)
	stop()
	left := server.next("unregister")
	server.send(`{"kind":"unregistered","route_key":"r","reason":"asked","tag":%q}`, left["tag"])
	got := server.next("nack")
	wantAnswer(t, got, "a", 1)
	if got["failed"] != false {
		t.Fatal(got)
	}
}

func TestAHandlerCanWaitForTheRemovalOfItsTask(t *testing.T) {
	client, server := newFake(t).dial(Dialer{})
	removals := make(chan bool, 1)
	listenLater(t, client, "r", func(ctx context.Context, d *Delivery) error {
		removed, err := d.Ack(ctx)
		removals <- removed && err == nil
		_, again := d.Ack(ctx)
		return again
	})
	server.register()
	server.deliver("r", "a", 1)
	got := server.next("ack")
	wantAnswer(t, got, "a", 1)
	if got["confirm"] != true {
		t.Fatal(got)
	}
	server.send(`{"kind":"acked","id":"a","route_key":"r","removed":true,"tag":%q}`, got["tag"])
	if !await(t, removals) {
		t.Fatal("not removed")
	}
	// Neither the second Ack nor its error sends an answer.
	go client.Ping(context.Background())
	server.next("ping")
}

func TestHandlersRunWithinTheCreditAndOtherDeliveriesAreGivenBack(t *testing.T) {
	client, server := newFake(t).dial(Dialer{Credit: 2})
	var running, most atomic.Int64
	began, finish := make(chan struct{}, 5), make(chan struct{})
	listenLater(t, client, "r", func(context.Context, *Delivery) error {
		now := running.Add(1)
		for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
		}
		began <- struct{}{}
		<-finish
		running.Add(-1)
		return nil
	})
	server.register()
	// Two run, two wait, and the fifth has no place.
	for i := 1; i <= 2; i++ {
		server.deliver("r", fmt.Sprint(i), 1)
		await(t, began)
	}
	for i := 3; i <= 5; i++ {
		server.deliver("r", fmt.Sprint(i), 1)
	}
	server.next("nack")
	close(finish)
	for i := 1; i <= 4; i++ {
		server.next("ack")
	}
	if most.Load() != 2 {
		t.Fatalf("%d handlers ran at a time", most.Load())
	}
}

func TestListenEndsWhenTheRouteIsLost(t *testing.T) {
	client, server := newFake(t).dial(Dialer{})
	done, _ := listenLater(t, client, "r", nil, Exclusive())
	if got := server.register(); got["mode"] != "exclusive" {
		t.Fatal(got)
	}
	server.send(`{"kind":"unregistered","route_key":"r","reason":"replaced"}`)
	got := server.next("ping")
	server.send(`{"kind":"pong","tag":%q}`, got["tag"])
	var lost *RouteLostError
	if err := await(t, done); !errors.As(err, &lost) || lost.Route != "r" || lost.Reason != "replaced" {
		t.Fatal(err)
	}
}

func TestListenEndsWhenTheServerRefusesTheRegistration(t *testing.T) {
	client, server := newFake(t).dial(Dialer{})
	done, _ := listenLater(t, client, "r", nil)
	got := server.next("register")
	server.send(`{"kind":"error","code":"bad_field","message":"no","tag":%q}`, got["tag"])
	got = server.next("ping")
	server.send(`{"kind":"pong","tag":%q}`, got["tag"])
	wantServerError(t, await(t, done), "bad_field")
}

func TestListenUnregistersAndWaitsForItsHandlersWhenItsContextEnds(t *testing.T) {
	client, server := newFake(t).dial(Dialer{})
	began, finish := make(chan struct{}), make(chan struct{})
	done, stop := listenLater(t, client, "r", func(context.Context, *Delivery) error {
		close(began)
		<-finish
		return nil
	})
	server.register()
	server.deliver("r", "a", 1)
	await(t, began)
	stop()
	got := server.next("unregister")
	server.send(`{"kind":"unregistered","route_key":"r","reason":"asked","tag":%q}`, got["tag"])
	close(finish)
	wantAnswer(t, server.next("ack"), "a", 1)
	got = server.next("ping")
	select {
	case err := <-done:
		t.Fatalf("%v before the server had read the ack", err)
	default:
	}
	server.send(`{"kind":"pong","tag":%q}`, got["tag"])
	if err := await(t, done); err != context.Canceled {
		t.Fatal(err)
	}
	// The route is free again, and a delivery in between is given back at once.
	server.deliver("r", "b", 1)
	if got := server.next("nack"); got["delay_ms"] != 0.0 || got["failed"] != false {
		t.Fatal(got)
	}
	listenLater(t, client, "r", nil)
	server.register()
}

func TestARouteIsListenedOnOnce(t *testing.T) {
	client, server := newFake(t).dial(Dialer{})
	listenLater(t, client, "r", nil)
	server.register()
	if err := client.Listen(context.Background(), "r", nil); err == nil {
		t.Fatal("twice")
	}
}
