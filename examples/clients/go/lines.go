package hyperdelay

import (
	"bufio"
	"bytes"
	"io"
)

// lines reads lines of at most max bytes and drops those that are longer.
type lines struct {
	reader  *bufio.Reader
	max     int
	tooLong func()
}

// newLines takes tooLong to be called for each line that was dropped.
func newLines(from io.Reader, max int, tooLong func()) *lines {
	// Room for "\r\n" besides the line.
	return &lines{reader: bufio.NewReaderSize(from, max+2), max: max, tooLong: tooLong}
}

// next is the next line that is not empty, without its end. It is valid until the next call.
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
