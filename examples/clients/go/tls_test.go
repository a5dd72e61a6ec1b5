package hyperdelay

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// authority issues certificates that live as long as a test.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	// file is its certificate in PEM.
	file string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Unix(0, 0), NotAfter: time.Now().AddDate(100, 0, 0), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{cert, key, writePEM(t, "ca.pem", "CERTIFICATE", der)}
}

// issue returns the files of a certificate for this machine and its key.
func (a *authority) issue(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), NotBefore: time.Unix(0, 0), NotAfter: time.Now().AddDate(100, 0, 0),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"tasks.internal"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return writePEM(t, "cert.pem", "CERTIFICATE", der), writePEM(t, "key.pem", "PRIVATE KEY", pkcs8)
}

func writePEM(t *testing.T, name, kind string, der []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// newSecureFake is a fake with TLS. With clients, it requires their certificates.
func newSecureFake(t *testing.T, server *authority, clients *authority) *fake {
	t.Helper()
	certFile, keyFile := server.issue(t)
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"hyper-delay"}}
	if clients != nil {
		config.ClientCAs = x509.NewCertPool()
		config.ClientCAs.AddCert(clients.cert)
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	f := newFake(t)
	f.listener = tls.NewListener(f.listener, config)
	return f
}

func TestTheConnectionIsEncryptedAlsoAfterAReconnect(t *testing.T) {
	ca := newAuthority(t)
	fake := newSecureFake(t, ca, nil)
	client, server := fake.dial(Dialer{TLS: &TLS{CAFile: ca.file}})
	wantScheduled(t, client, server)
	server.conn.Close()
	server = fake.accept()
	wantScheduled(t, client, server)
	if protocol := server.conn.(*tls.Conn).ConnectionState().NegotiatedProtocol; protocol != "hyper-delay" {
		t.Fatal(protocol)
	}
}

func TestAClientCertificateIsSent(t *testing.T) {
	ca, clients := newAuthority(t), newAuthority(t)
	fake := newSecureFake(t, ca, clients)
	certFile, keyFile := clients.issue(t)
	client, server := fake.dial(Dialer{TLS: &TLS{CAFile: ca.file, CertFile: certFile, KeyFile: keyFile}})
	wantScheduled(t, client, server)
	if len(server.conn.(*tls.Conn).ConnectionState().PeerCertificates) == 0 {
		t.Fatal("no certificate came")
	}
}

func TestTheCertificateMustHaveTheNameOfTheHostOrTheOneThatIsSet(t *testing.T) {
	ca := newAuthority(t)
	fake := newSecureFake(t, ca, nil)
	client, server := fake.dial(Dialer{TLS: &TLS{CAFile: ca.file, ServerName: "tasks.internal"}})
	wantScheduled(t, client, server)
	wantNoTLS(t, fake, &TLS{CAFile: ca.file, ServerName: "other.internal"}, "other.internal")
}

func TestAServerOfAnotherAuthorityIsNotTrusted(t *testing.T) {
	fake := newSecureFake(t, newAuthority(t), nil)
	wantNoTLS(t, fake, &TLS{CAFile: newAuthority(t).file}, "authority")
	wantNoTLS(t, fake, &TLS{}, "authority")
}

func TestFilesThatCannotBeUsedAreNamed(t *testing.T) {
	ca := newAuthority(t)
	certFile, _ := ca.issue(t)
	_, otherKey := ca.issue(t)
	empty := writePEM(t, "empty.pem", "OTHER", nil)
	fake := newSecureFake(t, ca, nil)
	for _, one := range []struct {
		tls  TLS
		want string
	}{
		{TLS{CAFile: "/missing/ca.pem"}, "/missing/ca.pem"},
		{TLS{CAFile: empty}, empty},
		{TLS{CAFile: ca.file, CertFile: certFile, KeyFile: otherKey}, otherKey},
		{TLS{CAFile: ca.file, CertFile: certFile}, certFile},
	} {
		one := one
		wantNoTLS(t, fake, &one.tls, one.want)
	}
}

// wantNoTLS fails unless the dialer fails with an error that contains the text.
func wantNoTLS(t *testing.T, f *fake, options *TLS, text string) {
	t.Helper()
	go func() {
		if conn, err := f.listener.Accept(); err == nil {
			conn.(*tls.Conn).Handshake()
			conn.Close()
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err := (&Dialer{TLS: options}).Dial(ctx, f.listener.Addr().String())
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Fatalf("got %v, want %s", err, text)
	}
}
