package hyperdelay

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"time"
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
	// Compression declares that the payload is compressed already. Default: the client compresses it
	// as Dialer.Compress says.
	Compression string
	// Replace replaces a task that has the same name and other content. Without it such a task is an
	// error with the code "duplicate_id".
	Replace bool
	// Headers are names and values for the consumer, such as "traceparent". They are not content: the
	// same task with other headers is the same.
	Headers map[string]string
	// ExpiresAt is when the task is removed if it is not done by then. The zero time means never.
	ExpiresAt time.Time
	// AckTimeout, MaxAttempts, RetryDelay and MaxRetryDelay replace the settings of the route and of the
	// server for this task. The zero value of each leaves them.
	AckTimeout                time.Duration
	MaxAttempts               uint32
	RetryDelay, MaxRetryDelay time.Duration
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
	payload, compression := task.Payload, task.Compression
	if compression == "" {
		var err error
		if payload, compression, err = c.compression.compress(payload); err != nil {
			return fail(err)
		}
	}
	fireAt := task.FireAt.Add(time.Millisecond - time.Nanosecond).UnixMilli()
	var expiresAt *int64
	if !task.ExpiresAt.IsZero() {
		at := task.ExpiresAt.UnixMilli()
		expiresAt = &at
	}
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
		Compression: compression,
		Payload:     base64.StdEncoding.EncodeToString(payload),
		Replace:     task.Replace,

		Headers:         task.Headers,
		ExpiresAt:       expiresAt,
		AckTimeoutMS:    millis(task.AckTimeout),
		MaxAttempts:     task.MaxAttempts,
		RetryDelayMS:    millis(task.RetryDelay),
		MaxRetryDelayMS: millis(task.MaxRetryDelay),
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
