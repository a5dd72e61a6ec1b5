package hyperdelay

import (
	"bufio"
	"bytes"
	"io"
)

// lines reads lines of at most max bytes and skips longer ones.
type lines struct {
	reader  *bufio.Reader
	max     int
	tooLong func()
}

// newLines returns a reader that calls tooLong for each skipped line.
func newLines(from io.Reader, max int, tooLong func()) *lines {
	// Room for "\r\n" besides the line.
	return &lines{reader: bufio.NewReaderSize(from, max+2), max: max, tooLong: tooLong}
}

// next returns the next non-empty line without its end. It is valid until the next call.
func (l *lines) next() ([]byte, error) {
	for {
		line, err := l.reader.ReadSlice('\n')
		if err == bufio.ErrBufferFull {
			for err == bufio.ErrBufferFull {
				_, err = l.reader.ReadSlice('\n')
			}
			if err == nil {
				l.tooLong()
			}
			line = nil
		}
		if err != nil {
			return nil, err
		}
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		switch {
		case len(line) > l.max:
			l.tooLong()
		case len(line) > 0:
			return line, nil
		}
	}
}
