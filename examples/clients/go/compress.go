package hyperdelay

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4"
)

// Compressions of payloads.
const (
	None = "none"
	LZ4  = "lz4"  // One frame of LZ4, of independent blocks.
	Zstd = "zstd" // One frame of Zstandard.
)

const (
	// small payloads, of fewer bytes, are not compressed.
	small = 256
	// window is that which every decoder of Zstandard should have, by RFC 8878.
	window = 8 << 20
	// block is the maximum length of a block of LZ4.
	block = 64 << 10
)

var errTooLong = errors.New("it is too long when decompressed: raise Dialer.MaxPayloadBytes")

// compression compresses and decompresses the payloads of a client. Its methods may be called from
// many goroutines.
type compression struct {
	name    string
	keep    bool
	max     int
	encoder *zstd.Encoder
	decoder *zstd.Decoder
}

func newCompression(d *Dialer) (*compression, error) {
	c := &compression{name: d.Compress, keep: d.KeepCompressed, max: d.MaxPayloadBytes}
	// The library refuses a window that is longer than the content may be.
	longest := uint64(window)
	if uint64(c.max) > longest {
		longest = uint64(c.max)
	}
	var err error
	c.encoder, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err == nil {
		c.decoder, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(0),
			zstd.WithDecoderMaxMemory(longest), zstd.WithDecoderMaxWindow(longest))
	}
	if err != nil {
		return nil, fmt.Errorf("hyperdelay: no compression: %w", err)
	}
	return c, nil
}

// compress returns what to send of a payload, and its compression.
func (c *compression) compress(payload []byte) ([]byte, string, error) {
	if c.name == "" || c.name == None || len(payload) < small {
		return payload, None, nil
	}
	var compressed []byte
	switch c.name {
	case Zstd:
		compressed = c.encoder.EncodeAll(payload, nil)
	case LZ4:
		var out bytes.Buffer
		w := lz4.NewWriter(&out)
		w.Header = lz4.Header{BlockMaxSize: block, Size: uint64(len(payload))}
		if _, err := w.Write(payload); err != nil {
			return nil, "", err
		}
		if err := w.Close(); err != nil {
			return nil, "", err
		}
		compressed = out.Bytes()
	}
	if len(compressed) >= len(payload) {
		return payload, None, nil
	}
	return compressed, c.name, nil
}

// decompress returns the payload and None, or the payload as it is with its name if it is kept, or
// if the name is one of a newer server.
func (c *compression) decompress(payload []byte, name string) ([]byte, string, error) {
	if c.keep || name != LZ4 && name != Zstd {
		return payload, name, nil
	}
	decompressed, err := c.frame(payload, name)
	if err != nil {
		return nil, "", fmt.Errorf("the payload is not one whole %s frame: %w", name, err)
	}
	return decompressed, None, nil
}

func (c *compression) frame(payload []byte, name string) ([]byte, error) {
	if len(payload) == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	var decompressed []byte
	var err error
	if name == Zstd {
		decompressed, err = c.decoder.DecodeAll(payload, nil)
	} else {
		decompressed, err = io.ReadAll(io.LimitReader(lz4.NewReader(bytes.NewReader(payload)), int64(c.max)+1))
	}
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) || err == nil && len(decompressed) > c.max {
		err = errTooLong
	}
	return decompressed, err
}
