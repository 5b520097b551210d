package sidecar

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/credential/brokertest"
	"github.com/alineo-labs/alineo-host/host/internal/engine/vault"
)

// authHeader is what the sidecar wants to see; the endpoint adds it.
const authHeader = "Opensandbox-Egress-Auth"

const (
	maxBody     = 1 << 20
	readTimeout = 10 * time.Second
)

// Sidecar is one sandbox's. It is safe for concurrent use.
type Sidecar struct {
	opts   brokertest.SidecarOptions
	store  *vault.Store
	api    http.Handler
	server *http.Server
	base   *url.URL
	client *http.Client
	id     string
	calls  atomic.Int64
	over   chan struct{}

	mu        sync.Mutex
	answers   []brokertest.Answer
	interfere int
	before    *vault.Rules // what requests get until then
	until     time.Time
}

var _ brokertest.Sidecar = (*Sidecar)(nil)

// Open makes a sandbox's sidecar. The caller closes it.
func Open(opts brokertest.SidecarOptions) (*Sidecar, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // at once, or not at all
	if err != nil {
		return nil, fmt.Errorf("listening as an egress sidecar: %w", err)
	}
	s := &Sidecar{
		opts: opts, store: vault.NewStore(), base: &url.URL{Scheme: "http", Host: listener.Addr().String(), Path: "/"},
		client: &http.Client{
			Transport:     &http.Transport{},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		over: make(chan struct{}),
	}
	s.id = "sandbox-" + listener.Addr().String()
	served := s.store
	if opts.NoProxy {
		served = nil
	}
	s.api = vault.NewServer(served, s, func() {})
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: readTimeout}
	go func() { _ = s.server.Serve(listener) }() // it ends with Close, which says so
	return s, nil
}

// Close ends it.
func (s *Sidecar) Close() error {
	close(s.over)
	s.client.CloseIdleConnections()
	return s.server.Close()
}

// Sandbox is what a broker gets.
func (s *Sidecar) Sandbox() credential.Sandbox {
	return credential.Sandbox{ID: s.id, Egress: endpoint{s}}
}

// endpoint is the way to a sidecar, as package opensandbox has it.
type endpoint struct{ s *Sidecar }

func (e endpoint) Do(req *http.Request) (*http.Response, error) {
	out := req.Clone(req.Context())
	out.URL = e.s.base.JoinPath(req.URL.Path)
	out.URL.RawQuery = req.URL.RawQuery
	out.Host = ""
	out.Header.Set(authHeader, e.s.id)
	return e.s.client.Do(out) //nolint:gosec // it goes to this sidecar
}

// Hold implements vault.Policy.
func (s *Sidecar) Hold(f func(vault.Covers) error) error {
	return f(func(host string) bool { return s.opts.Hosts == nil || slices.Contains(s.opts.Hosts, host) })
}

// ServeHTTP is the sidecar's API.
func (s *Sidecar) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.calls.Add(1)
	if r.Header.Get(authHeader) != s.id {
		http.Error(w, "unauthorized", http.StatusUnauthorized)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if answer, ok := s.next(); ok {
		s.give(w, r, answer, body)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if r.Method == http.MethodPatch {
		s.meddle()
	}
	old := s.store.Rules()
	if s.opts.Lag > 0 {
		w = &slow{ResponseWriter: w}
	}
	s.api.ServeHTTP(w, r)
	if now := s.store.Rules(); s.opts.Lag > 0 && now != old {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.before, s.until = old, time.Now().Add(s.opts.Lag)
	}
}

// slow is an answer of a sidecar that does not say when a change is in force.
type slow struct{ http.ResponseWriter }

func (w *slow) WriteHeader(status int) {
	w.Header().Del("X-Credential-Vault-Live")
	w.ResponseWriter.WriteHeader(status)
}

func (s *Sidecar) next() (brokertest.Answer, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.answers) == 0 {
		return brokertest.Answer{}, false
	}
	answer := s.answers[0]
	s.answers = s.answers[1:]
	return answer, true
}

func (s *Sidecar) give(w http.ResponseWriter, r *http.Request, answer brokertest.Answer, body []byte) {
	if answer.Hang {
		select {
		case <-r.Context().Done():
		case <-s.over:
		}
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(answer.Status)
	text := answer.Text
	if answer.Echo {
		text += string(body)
	}
	_, _ = io.WriteString(w, text) // a caller that has gone does not read it
}

// meddle changes the vault as somebody else would, in between.
func (s *Sidecar) meddle() {
	s.mu.Lock()
	meddling := s.interfere > 0
	if meddling {
		s.interfere--
	}
	s.mu.Unlock()
	if meddling {
		// A change that changes nothing has a revision of its own. Without a vault there is none to change.
		_, _ = s.store.Patch(vault.Mutation{}, func(string) bool { return true })
	}
}

// Answer gives the next calls these answers.
func (s *Sidecar) Answer(answers ...brokertest.Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers = answers
}

// Interfere lets somebody else change the vault before each of the next changes.
func (s *Sidecar) Interfere(times int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.interfere = times
}

// Calls is how many calls there were.
func (s *Sidecar) Calls() int { return int(s.calls.Load()) }

// Request says what a request gets now.
func (s *Sidecar) Request(q brokertest.Request) (brokertest.Given, error) {
	rules := s.store.Rules()
	s.mu.Lock()
	if time.Now().Before(s.until) {
		rules = s.before
	}
	s.mu.Unlock()
	sent := vault.Request{Scheme: "https", Host: strings.ToLower(q.Host), Port: 443, Method: "GET", Path: "/"}
	if q.Scheme == "http" {
		sent.Scheme, sent.Port = "http", 80
	}
	if q.Port != 0 {
		sent.Port = q.Port
	}
	if q.Method != "" {
		sent.Method = q.Method
	}
	if q.Path != "" {
		sent.Path = q.Path
	}
	found, err := rules.Select(sent)
	if err != nil || found == nil {
		return brokertest.Given{}, err
	}
	given := brokertest.Given{Headers: map[string]string{}, Texts: map[string]string{}}
	for _, h := range found.Headers {
		given.Headers[h.Name] = string(h.Value)
	}
	for _, t := range found.Substitutions {
		given.Texts[t.Placeholder] = string(t.Value)
	}
	return given, nil
}
