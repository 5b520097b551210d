package egress

import (
	"bytes"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// AuthHeader carries a sandbox's token.
const AuthHeader = "OPENSANDBOX-EGRESS-AUTH"

// maxBody is where the original stops reading a body, without a word; what is cut is broken JSON.
const maxBody = 1 << 20

// enforcement says that addresses are enforced too, not names alone.
const enforcement = "dns+nft"

// allowed are the methods of /policy.
const allowed = "GET, POST, PUT, PATCH, DELETE"

// Server is the egress API of one sandbox. It is safe for concurrent use.
type Server struct {
	gateway *Gateway
	token   string
	vault   http.Handler
}

// VaultPath is where the credential vault's API begins.
const VaultPath = "/credential-vault"

// NewServer makes the handler. Without a token, which no sandbox should be, everybody may call. vault
// serves what is below VaultPath; nil is nobody.
func NewServer(g *Gateway, token string, vault http.Handler) *Server {
	return &Server{gateway: g, token: token, vault: vault}
}

// ServeHTTP implements http.Handler. Errors are plain text. A body is taken before anything is answered: who
// still sends one when the connection is closed over a refusal may see that, and not the refusal.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		http.Error(w, "failed to read body: "+err.Error(), http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	vault := s.vault != nil && (r.URL.Path == VaultPath || strings.HasPrefix(r.URL.Path, VaultPath+"/"))
	switch {
	case r.URL.Path == "/healthz":
		_, _ = io.WriteString(w, "ok")
		return
	case r.URL.Path != "/policy" && !vault:
		http.NotFound(w, r)
		return
	}
	if s.token != "" && subtle.ConstantTimeCompare([]byte(r.Header.Get(AuthHeader)), []byte(s.token)) != 1 {
		http.Error(w, "unauthorized", http.StatusUnauthorized)
		return
	}
	if vault {
		s.vault.ServeHTTP(w, r)
		return
	}
	switch r.Method {
	case http.MethodGet:
		s.get(w)
	case http.MethodPost, http.MethodPut:
		s.set(w, r)
	case http.MethodPatch:
		s.patch(w, r)
	case http.MethodDelete:
		s.remove(w, r)
	default:
		w.Header().Set("Allow", allowed)
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
	}
}

// answer is what every call answers with, when it went well.
type answer struct {
	Status          string `json:"status"`
	Mode            string `json:"mode"`
	EnforcementMode string `json:"enforcementMode,omitempty"`
	Reason          string `json:"reason,omitempty"`
}

func (s *Server) get(w http.ResponseWriter) {
	p := s.gateway.Policy()
	write(w, struct {
		answer
		Policy *Policy `json:"policy"` // null until there is one
	}{answer{Status: "ok", Mode: modeOf(p), EnforcementMode: enforcement}, p})
}

// set replaces the policy; without a body, by one that denies all.
func (s *Server) set(w http.ResponseWriter, r *http.Request) {
	body, err := readBody(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if len(body) == 0 {
		if err := s.gateway.SetPolicy(Policy{Egress: []Rule{}}); err != nil {
			s.fail(w, "invalid policy", err)
			return
		}
		write(w, answer{Status: "ok", Mode: "deny_all", Reason: "policy reset to default deny-all"})
		return
	}
	var p Policy // null and {} are the default: deny
	if err := json.Unmarshal(body, &p); err != nil {
		http.Error(w, "invalid policy: "+err.Error(), http.StatusBadRequest)
		return
	}
	now, err := s.gateway.change(func(*Policy) (Policy, error) { return p, nil })
	if err != nil {
		s.fail(w, "invalid policy", err)
		return
	}
	write(w, answer{Status: "ok", Mode: modeOf(now), EnforcementMode: enforcement})
}

// patch puts rules before the others.
func (s *Server) patch(w http.ResponseWriter, r *http.Request) {
	body, err := readBody(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var rules []Rule
	if err := json.Unmarshal(body, &rules); err != nil {
		http.Error(w, "invalid patch rules: "+err.Error(), http.StatusBadRequest)
		return
	}
	if len(rules) == 0 {
		http.Error(w, "invalid patch rules: empty array", http.StatusBadRequest)
		return
	}
	now, err := s.gateway.change(func(p *Policy) (Policy, error) { return orDeny(p).merge(rules), nil })
	if err != nil {
		s.fail(w, "invalid merged policy", err)
		return
	}
	write(w, answer{Status: "ok", Mode: modeOf(now), EnforcementMode: enforcement})
}

// remove takes the rules of some targets away.
func (s *Server) remove(w http.ResponseWriter, r *http.Request) {
	body, err := readBody(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var targets []string
	if err := json.Unmarshal(body, &targets); err != nil {
		http.Error(w, "invalid delete targets: "+err.Error(), http.StatusBadRequest)
		return
	}
	if len(targets) == 0 {
		http.Error(w, "invalid delete targets: empty array", http.StatusBadRequest)
		return
	}
	removed := 0
	now, err := s.gateway.change(func(p *Policy) (rest Policy, _ error) {
		rest, removed = orDeny(p).without(targets)
		return rest, nil
	})
	if err != nil {
		s.fail(w, "invalid merged policy", err)
		return
	}
	a := answer{Status: "ok", Mode: modeOf(now), EnforcementMode: enforcement}
	if removed == 0 {
		a.Reason = "no matching targets found"
	}
	write(w, a)
}

// orDeny is the policy to start from when there is none.
func orDeny(p *Policy) Policy {
	if p == nil {
		return Policy{DefaultAction: Deny}
	}
	return *p
}

func (s *Server) fail(w http.ResponseWriter, what string, err error) {
	if limit, ok := errors.AsType[*LimitError](err); ok {
		http.Error(w, limit.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	if check, ok := errors.AsType[*CheckError](err); ok {
		http.Error(w, check.Error(), http.StatusBadRequest)
		return
	}
	http.Error(w, what+": "+err.Error(), http.StatusBadRequest)
}

func readBody(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return nil, fmt.Errorf("failed to read body: %w", err)
	}
	return bytes.TrimSpace(body), nil
}

func write(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		return // the client has gone
	}
}
