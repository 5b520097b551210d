package engine_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/alineo-labs/alineo-host/host/engine"
)

// outsideWorld is what sandboxes of a test reach: names of its own, and servers for them.
type outsideWorld struct {
	t      testing.TB
	ip     string // of the servers
	dns    string
	roots  string // a file
	signer *x509.Certificate
	key    *ecdsa.PrivateKey

	mu    sync.Mutex
	names map[string][]netip.Addr
}

// requireWorld makes one on a loopback address that nobody else uses, with the ports that credentials are
// for.
func requireWorld(t testing.TB) *outsideWorld {
	t.Helper()
	w := &outsideWorld{t: t, names: map[string][]netip.Addr{}}
	var b [3]byte
	for {
		_, _ = rand.Read(b[:])
		w.ip = fmt.Sprintf("127.%d.%d.%d", 64+b[0]%128, b[1], 1+b[2]%254)
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", w.ip+":443")
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			t.Skipf("LEFT OUT: this user may not listen on port 443, for which credentials are: %v", err)
		}
		_ = l.Close()
		break
	}
	w.certify()
	c, err := net.ListenPacket("udp", w.ip+":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	w.dns = c.LocalAddr().String()
	go w.serveDNS(c)
	return w
}

// certify makes the authority of the servers' certificates.
func (w *outsideWorld) certify() {
	w.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		w.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "world"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		w.t.Fatal(err)
	}
	w.key = key
	if w.signer, err = x509.ParseCertificate(der); err != nil {
		w.t.Fatal(err)
	}
	w.roots = filepath.Join(w.t.TempDir(), "world.pem")
	if err := os.WriteFile(w.roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// certificate is a server's.
func (w *outsideWorld) certificate(names ...string) tls.Certificate {
	w.t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), DNSNames: names, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, w.signer, w.key.Public(), w.key)
	if err != nil {
		w.t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: w.key}
}

// name makes a name lead to addresses, in place of those that it has.
func (w *outsideWorld) name(name string, to ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.names[name+"."] = nil
	for _, a := range to {
		w.names[name+"."] = append(w.names[name+"."], netip.MustParseAddr(a))
	}
}

func (w *outsideWorld) serveDNS(c net.PacketConn) {
	buf := make([]byte, 4096)
	for {
		n, from, err := c.ReadFrom(buf)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if err := m.Unpack(buf[:n]); err != nil || len(m.Questions) != 1 {
			continue
		}
		q := m.Questions[0]
		w.mu.Lock()
		addrs, there := w.names[strings.ToLower(q.Name.String())]
		w.mu.Unlock()
		m.Response, m.Additionals = true, nil
		if !there {
			m.RCode = dnsmessage.RCodeNameError
		}
		for _, a := range addrs {
			if a.Is4() && q.Type == dnsmessage.TypeA {
				m.Answers = append(m.Answers, dnsmessage.Resource{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 0}, Body: &dnsmessage.AResource{A: a.As4()},
				})
			}
		}
		if b, err := m.Pack(); err == nil {
			_, _ = c.WriteTo(b, from)
		}
	}
}

// serve serves on a port of the world's address, with TLS for the names if there are any.
func (w *outsideWorld) serve(port string, h http.HandlerFunc, names ...string) {
	w.t.Helper()
	l, err := (&net.ListenConfig{}).Listen(w.t.Context(), "tcp", net.JoinHostPort(w.ip, port))
	if err != nil {
		w.t.Fatal(err)
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute, ErrorLog: quietLog()}
	if names != nil {
		srv.TLSConfig = &tls.Config{Certificates: []tls.Certificate{w.certificate(names...)}, MinVersion: tls.VersionTLS12}
		go func() { _ = srv.ServeTLS(l, "", "") }()
	} else {
		go func() { _ = srv.Serve(l) }()
	}
	w.t.Cleanup(func() { _ = srv.Close() })
}

// engine opens an engine that knows the world.
func (w *outsideWorld) engine() *testEngine {
	w.t.Helper()
	return openEngine(w.t, engine.Options{DataDir: w.t.TempDir(), Nameserver: w.dns, Roots: w.roots})
}

// locked makes a sandbox that reaches some names of the world's, through its credential proxy.
func (w *outsideWorld) locked(e *testEngine, names ...string) *lockedBox {
	w.t.Helper()
	rules := []any{map[string]string{"action": "allow", "target": w.ip}}
	for _, n := range names {
		rules = append(rules, map[string]string{"action": "allow", "target": n})
	}
	b := &lockedBox{testBox: e.create(map[string]any{
		"networkPolicy":   map[string]any{"defaultAction": "deny", "egress": rules},
		"credentialProxy": map[string]any{"enabled": true},
	})}
	code, _, out := e.do(http.MethodGet, "/sandboxes/"+b.ID+"/endpoints/18080", nil)
	if err := json.Unmarshal([]byte(out), &b.endpoint); err != nil || code != http.StatusOK {
		w.t.Fatalf("endpoint: %d %s", code, out)
	}
	return b
}

// lockedBox is a sandbox with a credential proxy.
type lockedBox struct {
	*testBox
	endpoint struct {
		Endpoint string
		Headers  map[string]string
	}
}

// vault calls the vault's API as a client does.
func (b *lockedBox) vault(method, path, body string) (int, string) {
	b.e.t.Helper()
	req, err := http.NewRequestWithContext(b.e.t.Context(), method, "http://"+b.endpoint.Endpoint+path, strings.NewReader(body))
	if err != nil {
		b.e.t.Fatal(err)
	}
	for k, v := range b.endpoint.Headers {
		req.Header.Set(k, v)
	}
	code, _, out := b.e.send(req)
	return code, out
}

// bind creates the vault with one credential and one binding for a host.
func (b *lockedBox) bind(value, host, more string) {
	b.e.t.Helper()
	v, err := json.Marshal(value)
	if err != nil {
		b.e.t.Fatal(err)
	}
	code, out := b.vault(http.MethodPost, "/credential-vault", fmt.Sprintf(
		`{"credentials":[{"name":"t","source":{"type":"inline","value":%s}}],"bindings":[{"name":"b","match":{"hosts":[%q]%s},"auth":{"type":"bearer","credential":"t"}}]}`, v, host, more))
	if code != http.StatusCreated {
		b.e.t.Fatalf("creating the vault: %d %s", code, out)
	}
}

// attempts is what diagnostics tell of the way out.
func (b *lockedBox) attempts() string {
	b.e.t.Helper()
	_, _, out := b.e.do(http.MethodGet, "/sandboxes/"+b.ID+"/diagnostics/events?limit=200", nil)
	return out
}

// requirePrograms leaves a test out where a program is missing.
func requirePrograms(t testing.TB, b *testBox, names ...string) {
	t.Helper()
	for _, n := range names {
		if b.run("command -v "+n).Code != "0" {
			t.Skipf("LEFT OUT: this machine has no %s", n)
		}
	}
}

// seen remembers what reached a server.
type seen struct {
	mu   sync.Mutex
	auth []string
}

func (s *seen) add(v string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.auth = append(s.auth, v)
}

func (s *seen) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.auth
	s.auth = nil
	return out
}
