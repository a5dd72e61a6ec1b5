package hyperdelay

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
)

// TLS names the files of an encrypted connection, in PEM. They are read for each connection, so that
// they can be renewed. The zero value trusts the authorities of the system.
type TLS struct {
	// CAFile has the authorities to trust. Default: those of the system.
	CAFile string
	// CertFile and KeyFile are the client's certificate and its key. Default: none.
	CertFile, KeyFile string
	// ServerName is the name that the server's certificate must have. Default: the host.
	ServerName string
}

// config reads the files.
func (t *TLS) config(host string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"hyper-delay"}, ServerName: t.ServerName}
	if config.ServerName == "" {
		config.ServerName = host
	}
	if t.CAFile != "" {
		text, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("TLS.CAFile: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("TLS.CAFile is %q, which has no certificate: name a file in PEM", t.CAFile)
		}
	}
	if t.CertFile != "" || t.KeyFile != "" {
		pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("TLS.CertFile is %q, TLS.KeyFile is %q: %w", t.CertFile, t.KeyFile, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// secure encrypts a connection to addr.
func (t *TLS) secure(ctx context.Context, conn net.Conn, addr string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	config, err := t.config(host)
	if err != nil {
		return nil, err
	}
	secured := tls.Client(conn, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		return nil, fmt.Errorf("no TLS: %w", err)
	}
	return secured, nil
}
