package hyperdelay

import (
	"errors"
	"fmt"
)

var (
	// ErrClosed tells that the client was closed, before the call or while it waited.
	ErrClosed = errors.New("hyperdelay: the client is closed: dial another")

	// ErrConnectionLost tells that the connection ended before the answer came. Only what belongs to one connection ends
	// with it: the acknowledgement of a delivery. The server delivers the task again.
	ErrConnectionLost = errors.New("hyperdelay: the connection was lost before the answer: the task will be delivered again")

	// ErrAnswered tells that a delivery was acknowledged already.
	ErrAnswered = errors.New("hyperdelay: the delivery was answered already: acknowledge it once")
)

// ServerError is an error that the server answered. The request has changed nothing.
type ServerError struct {
	// Code is one of the codes in PROTOCOL.md, "duplicate_id" for one. New ones may be added.
	Code string
	// Message is for people.
	Message string
	// ID and Route are those of the request, where the server could read them.
	ID, Route string
}

func (e *ServerError) Error() string {
	return fmt.Sprintf("hyperdelay: the server answered %s: %s", e.Code, e.Message)
}

// ScheduleError tells which task was not scheduled, or not surely so: if Err is a *ServerError or a *LineTooLongError it was
// not; else it may have been, and scheduling it again under the same id is safe.
type ScheduleError struct {
	Route, ID string
	Err       error
}

func (e *ScheduleError) Error() string {
	return fmt.Sprintf("schedule task %q on route %q: %v", e.ID, e.Route, e.Err)
}

func (e *ScheduleError) Unwrap() error { return e.Err }

// RouteLostError ends Listen: the server took the route away.
type RouteLostError struct {
	Route string
	// Reason is "replaced" if another consumer registered for the route. New ones may be added.
	Reason string
}

func (e *RouteLostError) Error() string {
	return fmt.Sprintf("hyperdelay: the server took route %q away, reason %q: listen again to take it back", e.Route, e.Reason)
}

// LineTooLongError tells that a request does not fit into a line. It was not sent.
type LineTooLongError struct {
	Bytes, Max int
}

func (e *LineTooLongError) Error() string {
	return fmt.Sprintf("hyperdelay: the request is a line of %d bytes, and at most %d are allowed: make the payload smaller, "+
		"or raise max_line_bytes of the server and Dialer.MaxLineBytes", e.Bytes, e.Max)
}
