package hyperdelay

import (
	"context"
	"strings"
	"testing"
)

func wantScheduled(t *testing.T, client *Client, server *peer) {
	t.Helper()
	done := scheduleLater(context.Background(), client, Task{ID: "a", Route: "r"})
	server.acknowledge(server.next("schedule"))
	if got := await(t, done); got.err != nil || got.receipt.ID != "a" {
		t.Fatal(got)
	}
}

func TestTheVersionIsAgreedOnForEachConnection(t *testing.T) {
	fake := newFake(t)
	client, server := fake.dial(Dialer{})
	wantScheduled(t, client, server)
	server.conn.Close()
	server = fake.acceptAsOld()
	wantScheduled(t, client, server)
	server.conn.Close()
	wantScheduled(t, client, fake.accept())
}

func TestDialStaysOnProtocol1WithAnOlderServer(t *testing.T) {
	fake := newFake(t)
	accepted := later(fake.acceptAsOld)
	client, err := Dial(context.Background(), fake.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	wantScheduled(t, client, await(t, accepted))
}

func TestDialFailsIfTheServerRefusesTheHello(t *testing.T) {
	fake := newFake(t)
	go func() {
		server := fake.acceptRaw()
		hello := server.next("hello")
		server.send(`{"kind":"error","code":"shutting_down","message":"later","tag":%q}`, hello["tag"])
	}()
	_, err := Dial(context.Background(), fake.listener.Addr().String())
	wantServerError(t, err, "shutting_down")
}

func TestAnErrorWithALineNumberFailsTheRequestOnThatLine(t *testing.T) {
	fake := newFake(t)
	client, server := fake.dial(Dialer{})
	// Line 1 is the hello. The first request is the longest, but not the one that is refused.
	long := Task{ID: "long", Route: "r", Payload: []byte(strings.Repeat("x", 1000))}
	first := scheduleLater(context.Background(), client, long)
	one := server.next("schedule")
	second := scheduleLater(context.Background(), client, Task{ID: "short", Route: "r"})
	server.next("schedule")
	server.send(`{"kind":"error","code":"line_too_long","message":"?","line":9}`)
	server.send(`{"kind":"error","code":"line_too_long","message":"?","line":3}`)
	wantServerError(t, await(t, second).err, "line_too_long")

	// The numbers start again on the next connection.
	server.conn.Close()
	server = fake.accept()
	if again := server.next("schedule"); again["id"] != one["id"] {
		t.Fatal(again)
	}
	server.send(`{"kind":"error","code":"bad_json","message":"?","line":3}`)
	server.send(`{"kind":"error","code":"bad_json","message":"?","line":2}`)
	wantServerError(t, await(t, first).err, "bad_json")
}
