package hyperdelay

import (
	"errors"
	"fmt"
)

var (
	// ErrClosed means that the client was closed before the call or during it.
	ErrClosed = errors.New("hyperdelay: the client is closed: dial another")

	// ErrConnectionLost means that the connection ended before the reply arrived. Only the
	// acknowledgement of a delivery fails in this way, as it belongs to one connection. The server
	// delivers the task again.
	ErrConnectionLost = errors.New("hyperdelay: the connection was lost before the reply: the task will be delivered again")

	// ErrAnswered means that the delivery was already answered, or has timed out.
	ErrAnswered = errors.New("hyperdelay: the delivery was already answered, or has timed out: answer it once and in time")
)

// ServerError is an error reply of the server. The request has changed nothing.
type ServerError struct {
	// Code is one of the codes in PROTOCOL.md, for example "duplicate_id". Servers may add new ones.
	Code string
	// Message is for people.
	Message string
	// ID and Route are those of the request, if the server could read them.
	ID, Route string
	// Line is the number of the request's line on its connection if the server could not read the
	// line; otherwise 0.
	Line uint64
}

func (e *ServerError) Error() string {
	return fmt.Sprintf("hyperdelay: the server answered %s: %s", e.Code, e.Message)
}

// ScheduleError names a task that was not scheduled, or may not have been. If Err is a *ServerError
// or a *LineTooLongError, it was not. Otherwise it may have been, and it is safe to schedule it
// again under the same id.
type ScheduleError struct {
	Route, ID string
	Err       error
}

func (e *ScheduleError) Error() string {
	return fmt.Sprintf("schedule task %q on route %q: %v", e.ID, e.Route, e.Err)
}

func (e *ScheduleError) Unwrap() error { return e.Err }

// RouteLostError ends Listen: the server unregistered the route.
type RouteLostError struct {
	Route string
	// Reason is "replaced" if another consumer registered the route. Servers may add new reasons.
	Reason string
}

func (e *RouteLostError) Error() string {
	return fmt.Sprintf("hyperdelay: the server unregistered route %q, reason %q: listen again to take it back", e.Route, e.Reason)
}

// LineTooLongError means that a request does not fit into a line. It was not sent.
type LineTooLongError struct {
	Bytes, Max int
}

func (e *LineTooLongError) Error() string {
	return fmt.Sprintf("hyperdelay: the request is a line of %d bytes, and at most %d are allowed: make the payload smaller, "+
		"or raise max_line_bytes of the server and Dialer.MaxLineBytes", e.Bytes, e.Max)
}
