package hyperdelay

import (
	"bufio"
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

// session is one connection, from its hello to its end. What was registered on it and what was delivered over it ends with
// it.
type session struct {
	conn  net.Conn
	lines *lines
	out   chan []byte
	// done is closed at the end; why is set before.
	done chan struct{}
	once sync.Once
	why  error
	// heard is when a line last came, in nanoseconds since started, on the monotonic clock.
	started time.Time
	heard   atomic.Int64
}

func newSession(conn net.Conn, d *Dialer) *session {
	s := &session{conn: conn, out: make(chan []byte, 16), done: make(chan struct{}), started: time.Now()}
	s.lines = newLines(conn, d.MaxLineBytes, func() {
		d.Logf("hyperdelay: a line of more than %d bytes from the server was dropped: set Dialer.MaxLineBytes to its max_line_bytes",
			d.MaxLineBytes)
	})
	return s
}

// hello makes sure that the server takes this connection: one that it refuses is accepted by its kernel all the same.
func (s *session) hello() error {
	if _, err := s.conn.Write([]byte(`{"kind":"ping","tag":"hello"}` + "\n")); err != nil {
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
		case h.Kind == "error":
			return asServerError(line)
		case h.Kind == "pong" && h.Tag == "hello":
			return nil
		}
	}
}

// end closes the connection, for the reason that is given first.
func (s *session) end(why error) {
	s.once.Do(func() {
		s.why = why
		close(s.done)
		s.conn.Close()
	})
}

// cause is why the session ended, and nil if it has not.
func (s *session) cause() error {
	select {
	case <-s.done:
		return s.why
	default:
		return nil
	}
}

// send hands a line to the writer. That is no promise that it arrives.
func (s *session) send(ctx context.Context, line []byte) error {
	select {
	case s.out <- line:
		return nil
	case <-s.done:
		return ErrConnectionLost
	case <-ctx.Done():
		return ctx.Err()
	}
}

// write sends the lines of first, and then those of send, until the session ends.
func (s *session) write(first [][]byte) {
	w := bufio.NewWriter(s.conn)
	var err error
	for _, line := range first {
		if err == nil {
			_, err = w.Write(line)
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
		case line := <-s.out:
			_, err = w.Write(line)
		case <-s.done:
			return
		}
	}
}

// read gives every line to take, which must not wait for the writer: a server that can write no more reads no more.
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

// keepAlive finds out that the other side is gone although nobody said so.
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
			case s.out <- []byte(`{"kind":"ping"}` + "\n"):
			default: // The writer is stuck, with lines to answer enough.
			}
		}
	}
}
