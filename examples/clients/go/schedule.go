package hyperdelay

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"time"
)

// Labels of compression for the consumer. Neither the server nor this client reads payloads.
const (
	None = "none"
	LZ4  = "lz4"
	Zstd = "zstd"
)

// A Task is a payload for a route at a time.
type Task struct {
	// ID is 1 to 128 bytes. Route and ID are the name of the task. Default: Schedule makes a UUID.
	ID string
	// Route is 1 to 128 bytes.
	Route string
	// FireAt is the time the task is due, rounded up to a millisecond, so that it is never early. The
	// zero time and past times mean now.
	FireAt  time.Time
	Payload []byte
	// Compression is a label. Default: None.
	Compression string
	// Replace replaces a task that has the same name and other content. Without it such a task is an
	// error with the code "duplicate_id".
	Replace bool
}

// A Receipt proves that a task is on the server's disk.
type Receipt struct {
	ID, Route string
	FireAt    time.Time
}

// Schedule returns when the task is on the server's disk. If the connection is lost, it sends the
// task again on the next one; the server keeps one copy. Every error is a *ScheduleError.
//
// If ctx ends, the task may have been scheduled: the error has the id under which it can be
// scheduled again.
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

// newID returns a random UUID (RFC 4122, section 4.4).
func newID() (string, error) {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("no random bytes for an id: %w", err)
	}
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]), nil
}
