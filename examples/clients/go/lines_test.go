package hyperdelay

import (
	"context"
	"io"
	"reflect"
	"strings"
	"testing"
)

func TestLinesEndWithOrWithoutACarriageReturnAndLongLinesAreSkipped(t *testing.T) {
	const max = 16
	full := strings.Repeat("x", max)
	var dropped int
	l := newLines(strings.NewReader("a\n\r\n\nb\r\n"+full+"\r\n"+full+"x\n"+strings.Repeat(full, 9)+"\nc\nrest"),
		max, func() { dropped++ })
	var got []string
	for {
		line, err := l.next()
		if err == io.EOF {
			break
		}
		got = append(got, string(line))
	}
	if want := []string{"a", "b", full, "c"}; !reflect.DeepEqual(got, want) || dropped != 2 {
		t.Fatalf("got %q and dropped %d", got, dropped)
	}
}

func TestUnknownKindsAndLinesThatAreNotJsonAreIgnored(t *testing.T) {
	client, server := newFake(t).dial(Dialer{})
	done := later(func() error { return client.Ping(context.Background()) })
	got := server.next("ping")
	server.send(`{"kind":"news","id":17,"route_key":[]}`)
	server.send(`{"kind":"news","tag":"17"}`)
	server.send(`no json`)
	server.send(`[]`)
	server.send(`{"kind":"pong","tag":%q,"new":{}}`, got["tag"])
	if err := await(t, done); err != nil {
		t.Fatal(err)
	}
}

func TestStatsAndCancelDecodeTheirReplies(t *testing.T) {
	client, server := newFake(t).dial(Dialer{})
	stats := later(func() Stats {
		got, err := client.Stats(context.Background(), StatsQuery{After: "a"})
		if err != nil {
			t.Error(err)
		}
		return got
	})
	got := server.next("stats")
	if got["after"] != "a" {
		t.Fatal(got)
	}
	server.send(`{"kind":"stats","waiting":1,"parked":2,"in_flight":3,"dead":4,"connections":5,"unknown_acks":6,"orphaned":7,"x":8,"routes":[`+
		`{"route_key":"b","waiting":1,"parked":2,"in_flight":3,"dead":4,"consumers":5,"orphaned":true,"x":null}],"more":true,"tag":%q}`, got["tag"])
	want := Stats{
		Counts: Counts{1, 2, 3, 4}, Connections: 5, UnknownAcks: 6, Orphaned: 7, More: true,
		Routes: []RouteStats{{Route: "b", Counts: Counts{1, 2, 3, 4}, Consumers: 5, Orphaned: true}},
	}
	if got := await(t, stats); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v", got)
	}
	cancelled := later(func() Cancelled {
		got, err := client.Cancel(context.Background(), "r", "a")
		if err != nil {
			t.Error(err)
		}
		return got
	})
	got = server.next("cancel")
	server.send(`{"kind":"cancelled","id":"a","route_key":"r","found":true,"in_flight":true,"tag":%q}`, got["tag"])
	if got := await(t, cancelled); got != (Cancelled{Found: true, InFlight: true}) {
		t.Fatalf("got %+v", got)
	}
}
