package hyperdelay

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// session is one connection. Its registrations and deliveries end with it.
type session struct {
	conn  net.Conn
	lines *lines
	out   chan outgoing
	// done is closed at the end, after why is set.
	done chan struct{}
	once sync.Once
	why  error
	// heard is the time of the last line, in nanoseconds since started, on the monotonic clock.
	started time.Time
	heard   atomic.Int64
	// greeting is the number of lines that were written before those of the client.
	greeting uint64
}

// outgoing is a line to write. call is nil if the line has no reply.
type outgoing struct {
	line []byte
	call *call
}

func newSession(conn net.Conn, d *Dialer) *session {
	s := &session{conn: conn, out: make(chan outgoing, 16), done: make(chan struct{}), started: time.Now()}
	s.lines = newLines(conn, d.MaxLineBytes, func() {
		d.Logf("hyperdelay: skipped a line of more than %d bytes from the server: set Dialer.MaxLineBytes to its max_line_bytes",
			d.MaxLineBytes)
	})
	return s
}

// hello agrees on the version of the protocol. The reply proves that the server accepts the
// connection, which the kernel accepts in any case. A server before protocol 2 answers
// unknown_kind; the session then speaks protocol 1. Both versions differ only in the kind of the
// reply to schedule, which is matched by its tag.
//
// A token comes before it, and its reply before that of hello. A server that knows no tokens answers
// unknown_kind there, too.
func (s *session) hello(token string) error {
	var greeting bytes.Buffer
	if token != "" {
		quoted, err := json.Marshal(token)
		if err != nil {
			return err
		}
		fmt.Fprintf(&greeting, `{"kind":"auth","token":%s,"tag":"auth"}`+"\n", quoted)
		s.greeting++
	}
	greeting.WriteString(`{"kind":"hello","protocol":2,"tag":"hello"}` + "\n")
	s.greeting++
	if _, err := s.conn.Write(greeting.Bytes()); err != nil {
		return err
	}
	for {
		line, err := s.lines.next()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = errors.New("the server closed the connection at once: is this host in its allowed_hosts?")
			}
			return err
		}
		var h header
		if json.Unmarshal(line, &h) != nil {
			return fmt.Errorf("answered %.80q, which is not hyper-delay: is the port right?", line)
		}
		switch {
		case h.Kind == "hello":
			return nil
		case h.Kind == "error":
			if err := asServerError(line); codeOf(err) != "unknown_kind" {
				return err
			}
			if h.Tag != "auth" {
				return nil
			}
		}
	}
}

// end closes the connection. The first reason is kept.
func (s *session) end(why error) {
	s.once.Do(func() {
		s.why = why
		close(s.done)
		s.conn.Close()
	})
}

// cause is why the session ended; nil: it has not.
func (s *session) cause() error {
	select {
	case <-s.done:
		return s.why
	default:
		return nil
	}
}

// send passes a line to the writer. It returns before the line is written.
func (s *session) send(ctx context.Context, line outgoing) error {
	select {
	case s.out <- line:
		return nil
	case <-s.done:
		return ErrConnectionLost
	case <-ctx.Done():
		return ctx.Err()
	}
}

// write writes the lines of first and then those of send, until the session ends.
func (s *session) write(first []outgoing) {
	w := bufio.NewWriter(s.conn)
	number := s.greeting
	put := func(next outgoing) error {
		number++
		if next.call != nil {
			next.call.sent.Store(&place{s, number})
		}
		_, err := w.Write(next.line)
		return err
	}
	var err error
	for _, next := range first {
		if err == nil {
			err = put(next)
		}
	}
	for {
		if err == nil && len(s.out) == 0 {
			err = w.Flush()
		}
		if err != nil {
			s.end(err)
			return
		}
		select {
		case next := <-s.out:
			err = put(next)
		case <-s.done:
			return
		}
	}
}

// read passes every line to take, which must not wait for the writer: the server stops reading
// while it cannot write.
func (s *session) read(take func(line []byte)) {
	for {
		line, err := s.lines.next()
		if err != nil {
			s.end(err)
			return
		}
		s.heard.Store(int64(time.Since(s.started)))
		take(line)
	}
}

// keepAlive sends pings while the server is silent, and ends the session if it stays silent.
func (s *session) keepAlive(every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-s.done:
			return
		}
		silence := time.Since(s.started) - time.Duration(s.heard.Load())
		if silence >= 2*every {
			s.end(fmt.Errorf("the server was silent for %v", silence.Round(time.Millisecond)))
			return
		}
		if silence >= every/2 {
			select {
			case s.out <- outgoing{line: []byte(`{"kind":"ping"}` + "\n")}:
			default: // The queue is full: the server has enough lines to answer.
			}
		}
	}
}
