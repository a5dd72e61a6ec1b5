package hyperdelay

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"
)

type scheduled struct {
	receipt Receipt
	err     error
}

func scheduleLater(ctx context.Context, client *Client, task Task) <-chan scheduled {
	return later(func() scheduled {
		receipt, err := client.Schedule(ctx, task)
		return scheduled{receipt, err}
	})
}

func TestScheduleReturnsAfterTheReply(t *testing.T) {
	client, server := newFake(t).dial(Dialer{})
	done := scheduleLater(context.Background(), client, Task{
		ID: "order-17", Route: "service-A", FireAt: time.UnixMilli(1732616400000), Payload: []byte("hello"),
	})
	got := server.next("schedule")
	if got["id"] != "order-17" || got["route_key"] != "service-A" || got["fire_at"] != 1732616400000.0 ||
		got["payload_base64"] != "aGVsbG8=" || got["replace"] != nil {
		t.Fatalf("got %v", got)
	}
	select {
	case early := <-done:
		t.Fatalf("%v before the answer", early)
	default:
	}
	server.acknowledge(got)
	want := scheduled{Receipt{ID: "order-17", Route: "service-A", FireAt: time.UnixMilli(1732616400000)}, nil}
	if got := await(t, done); got != want {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func TestRepliesAreMatchedByTagInAnyOrder(t *testing.T) {
	client, server := newFake(t).dial(Dialer{})
	first := scheduleLater(context.Background(), client, Task{ID: "first", Route: "r"})
	one := server.next("schedule")
	second := scheduleLater(context.Background(), client, Task{ID: "second", Route: "r"})
	two := server.next("schedule")
	server.acknowledge(two)
	if got := await(t, second); got.receipt.ID != "second" || got.err != nil {
		t.Fatal(got)
	}
	server.acknowledge(one)
	if got := await(t, first); got.receipt.ID != "first" || got.err != nil {
		t.Fatal(got)
	}
}

func TestAScheduleWithoutAReplyIsSentAgainUnderTheSameIdAfterAReconnect(t *testing.T) {
	fake := newFake(t)
	client, server := fake.dial(Dialer{})
	done := scheduleLater(context.Background(), client, Task{Route: "r", Payload: []byte("x")})
	before := server.next("schedule")
	if id, _ := before["id"].(string); len(id) != 36 {
		t.Fatalf("the id is %q", id)
	}
	server.conn.Close()
	server = fake.accept()
	after := server.next("schedule")
	for _, field := range []string{"id", "route_key", "fire_at", "payload_base64"} {
		if before[field] != after[field] {
			t.Errorf("%s was %v and is %v", field, before[field], after[field])
		}
	}
	server.acknowledge(after)
	if got := await(t, done); got.err != nil || got.receipt.ID != before["id"] {
		t.Fatal(got)
	}
}

func TestAScheduleRefusedByAShutdownIsSentOnTheNextConnection(t *testing.T) {
	fake := newFake(t)
	client, server := fake.dial(Dialer{})
	done := scheduleLater(context.Background(), client, Task{ID: "a", Route: "r"})
	got := server.next("schedule")
	server.send(`{"kind":"error","code":"shutting_down","message":"later","id":"a","route_key":"r","tag":%q}`, got["tag"])
	server.conn.Close()
	server = fake.accept()
	server.acknowledge(server.next("schedule"))
	if got := await(t, done); got.err != nil {
		t.Fatal(got.err)
	}
}

func TestAnErrorOfTheServerIsTypedAndNamesTheTask(t *testing.T) {
	client, server := newFake(t).dial(Dialer{})
	done := scheduleLater(context.Background(), client, Task{ID: "a", Route: "r"})
	got := server.next("schedule")
	server.send(`{"kind":"error","code":"duplicate_id","message":"taken","id":"a","tag":%q,"hint":7}`, got["tag"])
	err := await(t, done).err
	wantServerError(t, err, "duplicate_id")
	var schedule *ScheduleError
	if !errors.As(err, &schedule) || schedule.ID != "a" || schedule.Route != "r" {
		t.Fatalf("%#v", err)
	}
}

func TestALineTooLongForTheClientIsNotSent(t *testing.T) {
	client, server := newFake(t).dial(Dialer{MaxLineBytes: 1024})
	_, err := client.Schedule(context.Background(), Task{Route: "r", Payload: make([]byte, 1024)})
	var tooLong *LineTooLongError
	if !errors.As(err, &tooLong) || tooLong.Max != 1024 {
		t.Fatal(err)
	}
	done := later(func() error { return client.Ping(context.Background()) })
	got := server.next("ping")
	server.send(`{"kind":"pong","tag":%q}`, got["tag"])
	if err := await(t, done); err != nil {
		t.Fatal(err)
	}
}

func TestALineTooLongForAnOldServerFailsTheLongestPendingRequest(t *testing.T) {
	client, server := newFake(t).dial(Dialer{})
	short := scheduleLater(context.Background(), client, Task{ID: "short", Route: "r"})
	one := server.next("schedule")
	long := scheduleLater(context.Background(), client, Task{ID: "long", Route: "r", Payload: bytes.Repeat([]byte("x"), 9000)})
	server.next("schedule")
	server.send(`{"kind":"error","code":"line_too_long","message":"more than 8192 bytes"}`)
	wantServerError(t, await(t, long).err, "line_too_long")
	server.acknowledge(one)
	if got := await(t, short); got.err != nil {
		t.Fatal(got.err)
	}
}

func TestFireAtIsRoundedUp(t *testing.T) {
	client, server := newFake(t).dial(Dialer{})
	go client.Schedule(context.Background(), Task{Route: "r", FireAt: time.UnixMilli(1000).Add(time.Nanosecond)})
	if got := server.next("schedule"); got["fire_at"] != 1001.0 {
		t.Fatal(got)
	}
	go client.Schedule(context.Background(), Task{Route: "r", FireAt: time.UnixMilli(1000)})
	if got := server.next("schedule"); got["fire_at"] != 1000.0 {
		t.Fatal(got)
	}
}

func TestScheduleEndsWithItsContextAndIsNotSentAgain(t *testing.T) {
	fake := newFake(t)
	client, server := fake.dial(Dialer{})
	ctx, cancel := context.WithCancel(context.Background())
	done := scheduleLater(ctx, client, Task{ID: "a", Route: "r"})
	server.next("schedule")
	cancel()
	if got := await(t, done); !errors.Is(got.err, context.Canceled) {
		t.Fatal(got.err)
	}
	server.conn.Close()
	server = fake.accept()
	scheduleLater(context.Background(), client, Task{ID: "b", Route: "r"})
	if got := server.next("schedule"); got["id"] != "b" {
		t.Fatal(got)
	}
}

func TestBadTasksAreRefusedBeforeTheyAreSent(t *testing.T) {
	client, _ := newFake(t).dial(Dialer{})
	for _, task := range []Task{{}, {Route: "\xff"}, {Route: "r", ID: "\xff"}} {
		if _, err := client.Schedule(context.Background(), task); err == nil {
			t.Errorf("%+v was taken", task)
		}
	}
}
