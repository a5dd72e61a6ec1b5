package hyperdelay

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// request contains the fields of all requests. Zero values are not sent.
type request struct {
	Kind        string `json:"kind"`
	Tag         string `json:"tag,omitempty"`
	ID          string `json:"id,omitempty"`
	Route       string `json:"route_key,omitempty"`
	FireAt      *int64 `json:"fire_at,omitempty"`
	Compression string `json:"compression,omitempty"`
	Payload     string `json:"payload_base64,omitempty"`
	Replace     bool   `json:"replace,omitempty"`
	Credit      int    `json:"credit,omitempty"`
	Mode        string `json:"mode,omitempty"`
	Attempt     int64  `json:"attempt,omitempty"`
	Confirm     bool   `json:"confirm,omitempty"`
	DelayMS     *int64 `json:"delay_ms,omitempty"`
	Failed      *bool  `json:"failed,omitempty"`
	After       string `json:"after,omitempty"`

	Headers         map[string]string `json:"headers,omitempty"`
	ExpiresAt       *int64            `json:"expires_at,omitempty"`
	AckTimeoutMS    int64             `json:"ack_timeout_ms,omitempty"`
	MaxAttempts     uint32            `json:"max_attempts,omitempty"`
	RetryDelayMS    int64             `json:"retry_delay_ms,omitempty"`
	MaxRetryDelayMS int64             `json:"max_retry_delay_ms,omitempty"`
	ExtendMS        int64             `json:"extend_ms,omitempty"`
	Reason          string            `json:"reason,omitempty"`
}

// line returns the encoded request with its end.
func (r *request) line(max int) ([]byte, error) {
	for _, field := range []struct{ name, value string }{
		{"id", r.ID}, {"route", r.Route}, {"compression", r.Compression}, {"after", r.After},
	} {
		if !utf8.ValidString(field.value) {
			return nil, fmt.Errorf("hyperdelay: the %s %q is not UTF-8: encode it", field.name, field.value)
		}
	}
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(r); err != nil {
		return nil, err
	}
	if length := line.Len() - 1; length > max {
		return nil, &LineTooLongError{Bytes: length, Max: max}
	}
	return line.Bytes(), nil
}

// header contains the fields that dispatch a line. The other fields are decoded after the kind is
// known: an unknown kind may use them differently.
type header struct {
	Kind string `json:"kind"`
	Tag  string `json:"tag"`
}

type errorLine struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	ID      string `json:"id"`
	Route   string `json:"route_key"`
	Line    uint64 `json:"line"`
}

type unregisteredLine struct {
	Route  string `json:"route_key"`
	Reason string `json:"reason"`
}

type deliveryLine struct {
	ID          string `json:"id"`
	Route       string `json:"route_key"`
	FireAt      int64  `json:"fire_at"`
	Payload     string `json:"payload_base64"`
	Compression string `json:"compression"`
	Attempt     int64  `json:"attempt"`

	Headers map[string]string `json:"headers"`
}

// millis returns a duration in milliseconds, rounded up.
func millis(d time.Duration) int64 {
	return int64((d + time.Millisecond - time.Nanosecond) / time.Millisecond)
}

// decodeBase64 decodes the standard alphabet with or without padding.
func decodeBase64(text string) ([]byte, error) {
	return base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
}

// asServerError decodes a line of kind "error".
func asServerError(line []byte) error {
	var e errorLine
	if err := json.Unmarshal(line, &e); err != nil {
		return fmt.Errorf("hyperdelay: an error of the server cannot be read: %w", err)
	}
	return &ServerError{Code: e.Code, Message: e.Message, ID: e.ID, Route: e.Route, Line: e.Line}
}

// codeOf returns the code of a *ServerError, and "" for other errors.
func codeOf(err error) string {
	if e, ok := err.(*ServerError); ok {
		return e.Code
	}
	return ""
}
