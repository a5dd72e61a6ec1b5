package hyperdelay

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"time"
)

// Labels of compression. They travel with the payload; neither the server nor this client looks inside.
const (
	None = "none"
	LZ4  = "lz4"
	Zstd = "zstd"
)

// A Task is a payload to be delivered to a route at a time.
type Task struct {
	// ID is 1 to 128 bytes. Route and ID are the name of the task. If it is empty Schedule makes a UUID.
	ID string
	// Route is 1 to 128 bytes.
	Route string
	// FireAt is when the task is due, rounded up to a millisecond, so that it is never early. Zero, or past: now.
	FireAt  time.Time
	Payload []byte
	// Compression is a label, None by default.
	Compression string
	// Replace makes this the next revision of the task if there is one of this name with other content, which is an error
	// otherwise, with the code "duplicate_id".
	Replace bool
}

// A Receipt tells that a task is on the server's disk.
type Receipt struct {
	ID, Route string
	FireAt    time.Time
}

// Schedule returns when the server has the task on disk. If the connection is lost it waits for the next one and sends the
// task again; the server does not double it. Every error is a *ScheduleError.
//
// When ctx ends the task may have been scheduled or not: the error has the id under which it can be scheduled again.
func (c *Client) Schedule(ctx context.Context, task Task) (Receipt, error) {
	fail := func(err error) (Receipt, error) {
		return Receipt{}, &ScheduleError{Route: task.Route, ID: task.ID, Err: err}
	}
	if task.Route == "" {
		return fail(errors.New("the route is empty: name one of 1 to 128 bytes"))
	}
	if task.ID == "" {
		id, err := newID()
		if err != nil {
			return fail(err)
		}
		task.ID = id
	}
	if task.FireAt.IsZero() {
		task.FireAt = time.Now()
	}
	fireAt := task.FireAt.Add(time.Millisecond - time.Nanosecond).UnixMilli()
	var reply struct {
		ID     string `json:"id"`
		Route  string `json:"route_key"`
		FireAt int64  `json:"fire_at"`
	}
	err := c.do(ctx, request{
		Kind:        "schedule",
		ID:          task.ID,
		Route:       task.Route,
		FireAt:      &fireAt,
		Compression: task.Compression,
		Payload:     base64.StdEncoding.EncodeToString(task.Payload),
		Replace:     task.Replace,
	}, nil, &reply)
	if err != nil {
		return fail(err)
	}
	return Receipt{ID: reply.ID, Route: reply.Route, FireAt: time.UnixMilli(reply.FireAt)}, nil
}

// newID is a random UUID (RFC 4122, section 4.4).
func newID() (string, error) {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("no random bytes for an id: %w", err)
	}
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]), nil
}
