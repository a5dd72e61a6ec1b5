package hyperdelay

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
)

const (
	tokenFileVariable = "HYPER_DELAY_TOKEN_FILE"
	tokenVariable     = "HYPER_DELAY_TOKEN"
)

// token reads the token: from the file of the dialer, or the environment, or the file that the
// environment names, as the other clients do. It is "" if there is none.
func (d *Dialer) token() (string, error) {
	if d.TokenFile != "" {
		return tokenIn(d.TokenFile, "TokenFile")
	}
	if text := os.Getenv(tokenVariable); text != "" {
		return nonEmpty(text, tokenVariable)
	}
	if file := os.Getenv(tokenFileVariable); file != "" {
		return tokenIn(file, tokenFileVariable)
	}
	return "", nil
}

// tokenIn reads the token in a file, which from names.
func tokenIn(file, from string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("%s: %w", from, err)
	}
	return nonEmpty(string(text), fmt.Sprintf("%s is %q, which", from, file))
}

// nonEmpty returns a token without the space around it.
func nonEmpty(text, from string) (string, error) {
	token := strings.TrimSpace(text)
	if token == "" {
		return "", fmt.Errorf("%s has no token: write one there, or unset it", from)
	}
	return token, nil
}

// checkSecret fails if a token would be readable on its way.
func checkSecret(conn net.Conn, encrypted bool) error {
	remote, isTCP := conn.RemoteAddr().(*net.TCPAddr)
	if encrypted || isTCP && remote.IP.IsLoopback() {
		return nil
	}
	return errors.New("a token is not sent without TLS to another machine: set Dialer.TLS, or configure no token")
}
