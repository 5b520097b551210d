package postgres_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability/postgres"
	"github.com/alineo-labs/alineo-host/internal/pgtest"
)

// authority is a private certificate authority.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := new(authority)
	var err error
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	a.cert = &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.pem, _ = a.sign(t, a.cert, a.key)
	return a
}

func (a *authority) sign(t *testing.T, cert *x509.Certificate, key *ecdsa.PrivateKey) (certPEM, keyPEM string) {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, cert, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
}

// server signs a certificate for names and addresses.
func (a *authority) server(t *testing.T, names ...string) (certPEM, keyPEM string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: names[0]}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			cert.IPAddresses = append(cert.IPAddresses, ip)
		} else {
			cert.DNSNames = append(cert.DNSNames, name)
		}
	}
	return a.sign(t, cert, key)
}

// file writes a file of the client's.
func file(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestTLSAndPasswords uses a server that wants both.
func TestTLSAndPasswords(t *testing.T) {
	t.Parallel()
	server := pgtest.New(t, pgtest.Options{HBA: "hostssl all all 127.0.0.1/32 scram-sha-256\n"})
	server.Exec(t, "ALTER ROLE "+pgtest.Role+" PASSWORD 'geheim'")
	name, _ := server.Database(t)
	trusted := newAuthority(t)
	root, strange := file(t, trusted.pem), file(t, newAuthority(t).pem)
	dsn := func(host, password, mode, root string) string {
		dsn := fmt.Sprintf("host=%s port=%d user=%s password=%s dbname=%s sslmode=%s", host, server.Port, pgtest.Role, password, name, mode)
		if root != "" {
			dsn += " sslrootcert=" + root
		}
		return dsn
	}
	refuse := func(dsn string, code abi.Code, sentence string) {
		t.Helper()
		failure := refused(t, open(t, postgres.Options{DSN: dsn}), true, nil, code, sentence, abi.SQLStep{SQL: "SELECT 1"})
		for _, private := range []string{"geheim", "falsch", "127.0.0.1", "localhost", root} {
			if strings.Contains(failure.Message, private) {
				t.Errorf("%q names %q", failure.Message, private)
			}
		}
	}
	// Before the server has a certificate.
	refuse(dsn("127.0.0.1", "geheim", "require", ""), abi.CodeUnavailable, "does not speak TLS")
	refuse(dsn("127.0.0.1", "geheim", "verify-full", root), abi.CodeUnavailable, "does not speak TLS")

	cert, key := trusted.server(t, "127.0.0.1")
	server.Exec(t, fmt.Sprintf("ALTER SYSTEM SET ssl_cert_file = '%s'", server.File(t, "server.crt", cert)))
	server.Exec(t, fmt.Sprintf("ALTER SYSTEM SET ssl_key_file = '%s'", server.File(t, "server.key", key)))
	server.Exec(t, "ALTER SYSTEM SET ssl = on")
	server.Down(t)
	server.Up(t)

	for _, mode := range []string{"verify-full", "verify-ca"} {
		db := open(t, postgres.Options{DSN: dsn("127.0.0.1", "geheim", mode, root)})
		ask(t, db, "SELECT 1")
		info, err := db.Info(t.Context())
		if err != nil || info.Transport != "TLS 1.3" || info.Role != pgtest.Role || info.Pooled || info.Version == "" || strings.Contains(fmt.Sprint(info), "geheim") {
			t.Errorf("%+v, %v", info, err)
		}
	}
	ask(t, open(t, postgres.Options{DSN: dsn("127.0.0.1", "geheim", "require", "")}), "SELECT 1")
	ask(t, open(t, postgres.Options{DSN: dsn("127.0.0.1", "geheim", "prefer", "")}), "SELECT 1")
	refuse(dsn("127.0.0.1", "geheim", "verify-full", strange), abi.CodeUnavailable, "authority")
	refuse(dsn("127.0.0.1", "geheim", "verify-full", ""), abi.CodeUnavailable, "authority")
	refuse(dsn("localhost", "geheim", "verify-full", root), abi.CodeUnavailable, "another name")
	ask(t, open(t, postgres.Options{DSN: dsn("localhost", "geheim", "verify-ca", root)}), "SELECT 1")
	refuse(dsn("127.0.0.1", "geheim", "disable", ""), abi.CodeDenied, "refuses")
	refuse(dsn("127.0.0.1", "falsch", "require", ""), abi.CodeDenied, "refuses the role or its password")
	refuse(strings.Replace(dsn("127.0.0.1", "geheim", "require", ""), " password=geheim", "", 1), abi.CodeDenied, "refuses the role or its password")
	refuse(strings.Replace(dsn("127.0.0.1", "geheim", "require", ""), name, "nothing", 1), abi.CodeUnavailable, "does not exist")
}
