package hyperdelay

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestATaskCanHaveHeadersAndTerms(t *testing.T) {
	client, server := newFake(t).dial(Dialer{})
	scheduleLater(context.Background(), client, Task{
		Route: "r", Headers: map[string]string{"traceparent": "00-a"}, ExpiresAt: time.UnixMilli(5000),
		AckTimeout: 1500 * time.Microsecond, MaxAttempts: 3, RetryDelay: time.Second, MaxRetryDelay: time.Minute,
	})
	got := server.next("schedule")
	for name, want := range map[string]any{
		"expires_at": 5000.0, "ack_timeout_ms": 2.0, "max_attempts": 3.0, "retry_delay_ms": 1000.0, "max_retry_delay_ms": 60000.0,
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	if !reflect.DeepEqual(got["headers"], map[string]any{"traceparent": "00-a"}) {
		t.Error(got["headers"])
	}
	scheduleLater(context.Background(), client, Task{Route: "r"})
	got = server.next("schedule")
	for _, name := range []string{"headers", "expires_at", "ack_timeout_ms", "max_attempts", "retry_delay_ms", "max_retry_delay_ms"} {
		if _, has := got[name]; has {
			t.Errorf("%s is %v", name, got[name])
		}
	}
}

func TestAHandlerReadsHeadersAndExtendsItsTime(t *testing.T) {
	client, server := newFake(t).dial(Dialer{})
	type touched struct {
		until time.Time
		err   error
	}
	heard, results := make(chan map[string]string, 1), make(chan touched, 2)
	listenLater(t, client, "r", func(ctx context.Context, d *Delivery) error {
		heard <- d.Headers
		for i := 0; i < 2; i++ {
			until, err := d.Touch(ctx, time.Duration(i)*time.Minute)
			results <- touched{until, err}
		}
		return nil
	})
	server.register()
	server.send(`{"kind":"delivery","id":"a","route_key":"r","fire_at":5,"payload_base64":"","attempt":1,"headers":{"b":"c"}}`)
	if got := await(t, heard); got["b"] != "c" {
		t.Fatal(got)
	}
	touch := server.next("touch")
	wantAnswer(t, touch, "a", 1)
	if _, has := touch["extend_ms"]; has {
		t.Fatal(touch)
	}
	server.send(`{"kind":"touched","id":"a","route_key":"r","attempt":1,"found":true,"deadline":7000,"tag":%q}`, touch["tag"])
	if got := await(t, results); got.err != nil || !got.until.Equal(time.UnixMilli(7000)) {
		t.Fatal(got)
	}
	touch = server.next("touch")
	if touch["extend_ms"] != 60000.0 {
		t.Fatal(touch)
	}
	server.send(`{"kind":"touched","id":"a","found":false,"tag":%q}`, touch["tag"])
	if got := await(t, results); got.err != ErrAnswered {
		t.Fatal(got)
	}
	server.next("ack")
}

func TestTheErrorOfAHandlerIsTheReasonOfItsNack(t *testing.T) {
	client, server := newFake(t).dial(Dialer{})
	listenLater(t, client, "r", func(_ context.Context, d *Delivery) error {
		switch d.ID {
		case "delay":
			return RetryAfter(time.Second, errors.New("no disk"))
		case "silent":
			return RetryAfter(time.Second, nil)
		default:
			return errors.New(strings.Repeat("ü", 200) + "\xff\nmore")
		}
	})
	server.register()
	server.deliver("r", "delay", 1)
	if got := server.next("nack"); got["reason"] != "no disk" || got["delay_ms"] != 1000.0 {
		t.Fatal(got)
	}
	server.deliver("r", "silent", 1)
	if got := server.next("nack"); got["reason"] != nil {
		t.Fatal(got)
	}
	server.deliver("r", "long", 1)
	got, _ := server.next("nack")["reason"].(string)
	if len(got) != 256 || !utf8.ValidString(got) {
		t.Fatal(len(got), got)
	}
}
