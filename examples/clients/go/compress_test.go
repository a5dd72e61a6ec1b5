package hyperdelay

import (
	"bytes"
	"context"
	"encoding/base64"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// payload returns a compressed payload of the fixtures.
func payload(t *testing.T, name string) []byte {
	t.Helper()
	bytes, err := os.ReadFile(path(name))
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

func path(name string) string {
	return filepath.Join("../../../crates/hyper-delay/tests/fixtures/payloads", name)
}

func compressionOf(name string) string {
	if strings.HasSuffix(name, ".lz4") {
		return LZ4
	}
	return Zstd
}

func newTestCompression(t *testing.T, options Dialer) *compression {
	t.Helper()
	filled, err := options.filled()
	if err != nil {
		t.Fatal(err)
	}
	c, err := newCompression(&filled)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// readable are payloads of other programs. LZ4 with linked blocks is not read.
var readable = []string{
	"independent.lz4", "checked.zst", "streamed.zst", "go.lz4", "go.zst", "java.lz4", "java.zst", "rust.lz4", "rust.zst",
}

func TestPayloadsOfEveryProgramAreDecompressed(t *testing.T) {
	text := payload(t, "text")
	c := newTestCompression(t, Dialer{})
	for _, name := range readable {
		got, label, err := c.decompress(payload(t, name), compressionOf(name))
		if err != nil || label != None || !bytes.Equal(got, text) {
			t.Errorf("%s: %d bytes, %s, %v", name, len(got), label, err)
		}
	}
}

func TestWhatIsCompressedDecompressesToTheSame(t *testing.T) {
	text := payload(t, "text")
	for name, file := range map[string]string{LZ4: "go.lz4", Zstd: "go.zst"} {
		c := newTestCompression(t, Dialer{Compress: name})
		for _, content := range [][]byte{text, bytes.Repeat([]byte{7}, small)} {
			compressed, label, err := c.compress(content)
			if err != nil || label != name || len(compressed) >= len(content) {
				t.Fatal(len(compressed), label, err)
			}
			got, label, err := c.decompress(compressed, label)
			if err != nil || label != None || !bytes.Equal(got, content) {
				t.Fatal(len(got), label, err)
			}
		}
		if os.Getenv("HYPER_DELAY_WRITE_PAYLOADS") != "" {
			compressed, _, _ := c.compress(text)
			if err := os.WriteFile(path(file), compressed, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestPayloadsThatWouldNotBecomeSmallerAreSentAsTheyAre(t *testing.T) {
	random := make([]byte, 1000)
	rand.New(rand.NewSource(1)).Read(random)
	for _, name := range []string{"", None, LZ4, Zstd} {
		c := newTestCompression(t, Dialer{Compress: name})
		for _, content := range [][]byte{nil, bytes.Repeat([]byte{7}, small-1), random} {
			got, label, err := c.compress(content)
			if err != nil || label != None || !bytes.Equal(got, content) {
				t.Errorf("%s: %d of %d bytes, %s, %v", name, len(got), len(content), label, err)
			}
		}
	}
}

func TestAPayloadIsDecompressedUpToTheMaximum(t *testing.T) {
	text := payload(t, "text")
	for _, name := range readable {
		c := newTestCompression(t, Dialer{MaxPayloadBytes: len(text)})
		if _, _, err := c.decompress(payload(t, name), compressionOf(name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		c = newTestCompression(t, Dialer{MaxPayloadBytes: len(text) - 1})
		if _, _, err := c.decompress(payload(t, name), compressionOf(name)); err == nil || !strings.Contains(err.Error(), "MaxPayloadBytes") {
			t.Errorf("%s: %v", name, err)
		}
	}
	c := newTestCompression(t, Dialer{MaxPayloadBytes: 1 << 20})
	for _, name := range []string{"zeros.lz4", "zeros.zst"} {
		if _, _, err := c.decompress(payload(t, name), compressionOf(name)); err == nil || !strings.Contains(err.Error(), "MaxPayloadBytes") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPayloadsThatAreCutOrDamagedAreRefused(t *testing.T) {
	c := newTestCompression(t, Dialer{})
	for _, name := range []string{"independent.lz4", "checked.zst"} {
		whole := payload(t, name)
		for end := 0; end < len(whole); end += 61 {
			if _, _, err := c.decompress(whole[:end], compressionOf(name)); err == nil {
				t.Errorf("%s cut at %d was taken", name, end)
			}
		}
		random := rand.New(rand.NewSource(1))
		for i := 0; i < 2000; i++ {
			damaged := append([]byte(nil), whole...)
			for n := random.Intn(4); n >= 0; n-- {
				damaged[random.Intn(len(damaged))] = byte(random.Int())
			}
			if got, _, err := c.decompress(damaged, compressionOf(name)); err == nil && len(got) > c.max {
				t.Fatalf("%d bytes", len(got))
			}
		}
	}
	if _, _, err := c.decompress(payload(t, "linked.lz4"), LZ4); err == nil {
		t.Error("this library reads linked blocks: say so in the README")
	}
}

func TestAScheduledPayloadIsCompressedUnlessItsTaskNamesACompression(t *testing.T) {
	client, server := newFake(t).dial(Dialer{Compress: Zstd})
	content := bytes.Repeat([]byte("hello "), 100)
	scheduleLater(context.Background(), client, Task{Route: "r", Payload: content})
	got := server.next("schedule")
	sent, err := base64.StdEncoding.DecodeString(got["payload_base64"].(string))
	if err != nil || got["compression"] != Zstd || len(sent) >= len(content) {
		t.Fatal(got, err)
	}
	if back, _, err := client.compression.decompress(sent, Zstd); err != nil || !bytes.Equal(back, content) {
		t.Fatal(err)
	}
	scheduleLater(context.Background(), client, Task{Route: "r", Payload: content, Compression: LZ4})
	got = server.next("schedule")
	if got["compression"] != LZ4 || got["payload_base64"] != base64.StdEncoding.EncodeToString(content) {
		t.Fatal(got)
	}
}

func (p *peer) deliverPayload(id, compression string, payload []byte) {
	p.t.Helper()
	p.send(`{"kind":"delivery","id":%q,"route_key":"r","fire_at":5,"payload_base64":%q,"compression":%q,"attempt":1}`,
		id, base64.StdEncoding.EncodeToString(payload), compression)
}

func TestADeliveryIsDecompressedOrGivenBack(t *testing.T) {
	client, server := newFake(t).dial(Dialer{})
	heard := make(chan *Delivery, 3)
	listenLater(t, client, "r", func(_ context.Context, d *Delivery) error {
		heard <- d
		return nil
	})
	server.register()
	text := payload(t, "text")
	for _, name := range []string{"independent.lz4", "checked.zst"} {
		server.deliverPayload(name, compressionOf(name), payload(t, name))
		if d := await(t, heard); d.Compression != None || !bytes.Equal(d.Payload, text) {
			t.Fatal(name, d.Compression, len(d.Payload))
		}
		server.next("ack")
	}
	server.deliverPayload("damaged", LZ4, []byte("hello"))
	wantAnswer(t, server.next("nack"), "damaged", 1)
	// The handler has not run. A compression of a newer server is delivered as it is.
	server.deliverPayload("new", "brotli", []byte("hello"))
	if d := await(t, heard); d.ID != "new" || d.Compression != "brotli" || string(d.Payload) != "hello" {
		t.Fatalf("%+v", d)
	}
}

func TestADeliveryIsKeptCompressedOnRequest(t *testing.T) {
	client, server := newFake(t).dial(Dialer{KeepCompressed: true})
	heard := make(chan *Delivery, 1)
	listenLater(t, client, "r", func(_ context.Context, d *Delivery) error {
		heard <- d
		return nil
	})
	server.register()
	server.deliverPayload("a", LZ4, []byte("hello"))
	if d := await(t, heard); d.Compression != LZ4 || string(d.Payload) != "hello" {
		t.Fatalf("%+v", d)
	}
}

func TestAnUnknownCompressionIsRefused(t *testing.T) {
	if _, err := (&Dialer{Compress: "gzip"}).Dial(context.Background(), "127.0.0.1:1"); err == nil || !strings.Contains(err.Error(), "gzip") {
		t.Fatal(err)
	}
}
