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

// token reads the token: from the file of the dialer, or that of the environment, or the environment
// itself. It is "" if there is none.
func (d *Dialer) token() (string, error) {
	from, file := "TokenFile", d.TokenFile
	if file == "" {
		from, file = tokenFileVariable, os.Getenv(tokenFileVariable)
	}
	if file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("%s: %w", from, err)
		}
		return nonEmpty(string(text), fmt.Sprintf("%s is %q, which", from, file))
	}
	text, isSet := os.LookupEnv(tokenVariable)
	if !isSet || text == "" {
		return "", nil
	}
	return nonEmpty(text, tokenVariable)
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
