package baotest

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// RootToken may do everything.
const RootToken = "root-token-of-the-tests"

// startTime is how long a server may take to start: other tests run beside it.
const startTime = time.Minute

// Options say how a server is set up.
type Options struct {
	TLS bool // with a certificate of a CA of its own
}

// Server is a running OpenBao.
type Server struct {
	Address string // https://127.0.0.1:port, or http://
	CA      []byte // PEM, with TLS
	CAFile  string

	process *exec.Cmd
	client  *http.Client
	output  *bytes.Buffer
	ended   chan struct{}
}

// binary is where scripts/openbao.sh puts it, when it is what requirements.txt names.
func binary() (string, error) {
	dir, err := root()
	if err != nil {
		return "", err
	}
	want, err := os.ReadFile(filepath.Join(dir, "internal", "baotest", "requirements.txt"))
	if err != nil {
		return "", err
	}
	got, err := os.ReadFile(filepath.Join(dir, "bin", "openbao", "requirements.txt"))
	if err != nil || !bytes.Equal(got, want) {
		return "", errors.New("OpenBao is not installed: run scripts/openbao.sh")
	}
	return filepath.Join(dir, "bin", "openbao", "bao"), nil
}

// root is the folder of go.mod.
func root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", errors.New("there is no go.mod above the test")
		}
		dir = above
	}
}

// New starts a server that ends with the test.
func New(tb testing.TB, opts Options) *Server {
	tb.Helper()
	bao, err := binary()
	if err != nil {
		fmt.Fprintf(os.Stderr, "\n*** LEFT OUT: %s: %v\n\n", tb.Name(), err)
		tb.Skipf("LEFT OUT: %v", err)
	}
	s := &Server{output: new(bytes.Buffer), client: &http.Client{Timeout: startTime}, ended: make(chan struct{})}
	address := freeAddress(tb)
	dir := tb.TempDir()
	args := []string{"server", "-dev", "-dev-no-store-token", "-dev-root-token-id=" + RootToken, "-dev-listen-address=" + address}
	s.Address = "http://" + address
	if opts.TLS {
		args = append(args, "-dev-tls", "-dev-tls-cert-dir="+dir)
		s.Address = "https://" + address
	}
	s.process = exec.Command(bao, args...) //nolint:gosec,noctx // the pinned binary; stop ends it
	s.process.Dir, s.process.Env = dir, []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	s.process.Stdout, s.process.Stderr = s.output, s.output
	if err := s.process.Start(); err != nil {
		tb.Fatalf("starting OpenBao: %v", err)
	}
	go func() {
		_ = s.process.Wait() // how it ends is of no interest
		close(s.ended)
	}()
	tb.Cleanup(s.Stop)
	s.wait(tb, dir, opts)
	return s
}

// wait waits until it answers, and is unsealed.
func (s *Server) wait(tb testing.TB, dir string, opts Options) {
	tb.Helper()
	for deadline := time.Now().Add(startTime); ; time.Sleep(50 * time.Millisecond) {
		if opts.TLS && s.CA == nil {
			s.trust(dir)
		}
		resp, err := s.client.Get(s.Address + "/v1/sys/health") //nolint:noctx // the client has a timeout
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-s.ended:
			tb.Fatalf("OpenBao ended: %s", s.output)
		default:
		}
		if time.Now().After(deadline) {
			tb.Fatalf("OpenBao does not answer: %v", err)
		}
	}
}

// trust reads the CA that the server makes when it starts.
func (s *Server) trust(dir string) {
	files, err := filepath.Glob(filepath.Join(dir, "*-ca.pem"))
	if err != nil || len(files) != 1 {
		return
	}
	pem, err := os.ReadFile(files[0])
	pool := x509.NewCertPool()
	if err != nil || !pool.AppendCertsFromPEM(pem) {
		return
	}
	s.CA, s.CAFile = pem, files[0]
	s.client.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
}

// freeAddress is one that nobody listens on.
func freeAddress(tb testing.TB) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // at once, or not at all
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = l.Close() }() // only its number is wanted
	return l.Addr().String()
}

// Stop kills it. It is idempotent.
func (s *Server) Stop() {
	_ = s.process.Process.Kill() // it may have ended
	<-s.ended
	s.client.CloseIdleConnections()
}

// Call asks for something with the root token, and fails the test when that is refused. A path may begin
// with a namespace. into gets the answer, unless it is nil.
func (s *Server) Call(tb testing.TB, method, path, body string, into any) {
	tb.Helper()
	req, err := http.NewRequestWithContext(tb.Context(), method, s.Address+"/v1/"+path, strings.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	req.Header.Set("X-Vault-Token", RootToken)
	resp, err := s.client.Do(req)
	if err != nil {
		tb.Fatalf("asking OpenBao for %s: %v", path, err)
	}
	defer func() { _ = resp.Body.Close() }() // it is read to its end
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode > 299 {
		tb.Fatalf("asking OpenBao for %s: %s, %v: %s", path, resp.Status, err, answer)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal(answer, into); err != nil {
		tb.Fatalf("asking OpenBao for %s: %v in %s", path, err, answer)
	}
}
