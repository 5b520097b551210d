package lifecycle

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"strings"

	"github.com/alineo-labs/alineo-host/host/internal/engine/egress"
	"github.com/alineo-labs/alineo-host/host/internal/engine/shim"
	"github.com/alineo-labs/alineo-host/host/internal/engine/unixsock"
)

// egressPort is the port under which a sandbox's egress API is asked for.
const egressPort = 18080

// network is a sandbox's way out: by its policy, or to all that is public when it was given none. The
// egress API has a token to call it with only when there is a policy, as in the original.
func (m *Manager) network(rec *record, q createRequest) (*shim.Network, error) {
	policy := q.policy
	if !m.opts.Egress && q.credentials {
		return nil, problem(http.StatusBadRequest, codeInvalidParameter,
			"credentialProxy needs a network, which sandboxes don't have on this machine (see alineo-host doctor)")
	}
	if !m.opts.Egress {
		if policy == nil || policy.DefaultAction == egress.Deny && len(policy.Egress) == 0 {
			return nil, nil //nolint:nilnil // no way out is what was asked for, or all there is
		}
		return nil, problem(http.StatusBadRequest, codeInvalidParameter,
			"networkPolicy lets traffic out, and sandboxes have no network on this machine (see alineo-host doctor): leave it out, or deny everything")
	}
	token := newToken()
	if policy == nil {
		return &shim.Network{Policy: &egress.Policy{DefaultAction: egress.Allow}, Token: token, Nameserver: m.opts.Nameserver}, nil
	}
	if err := policy.Check(); err != nil {
		return nil, problem(http.StatusBadRequest, codeInvalidParameter, "networkPolicy: %v", err)
	}
	if len(policy.Egress) > egress.DefaultMaxRules {
		return nil, problem(http.StatusBadRequest, codeInvalidParameter, "networkPolicy has %d rules, and %d are the most", len(policy.Egress), egress.DefaultMaxRules)
	}
	rec.EgressToken, rec.Credentials = token, q.credentials
	return &shim.Network{Policy: policy, Token: token, Credentials: q.credentials, Nameserver: m.opts.Nameserver, Roots: m.opts.Roots}, nil
}

// newToken is 24 random bytes, as the original's.
func newToken() string {
	var b [24]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return base64.URLEncoding.EncodeToString(b[:])
}

// endpointHeaders are what requests to an endpoint must carry; nil is nothing.
func (s *sandbox) endpointHeaders(port int) map[string]string {
	token := s.record().EgressToken
	if port != egressPort || token == "" {
		return nil
	}
	return map[string]string{egress.AuthHeader: token}
}

// egressTransport reaches the egress API of a sandbox.
func egressTransport(dir string) *http.Transport {
	socket := filepath.Join(dir, shim.EgressSocket)
	return &http.Transport{
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return unixsock.Dial(ctx, socket) },
		DisableKeepAlives: true, // it is asked rarely
	}
}

// vaultTransport tells whether a request to the egress API may carry secrets: it came by TLS, or did not
// leave this machine.
func vaultTransport(r *http.Request) bool {
	if r.TLS != nil || r.Method == http.MethodGet || !strings.HasPrefix(afterPort(r.URL.Path), egress.VaultPath) {
		return true
	}
	if !here(r.RemoteAddr) {
		return false
	}
	// Another process of ours may have taken it, and passed it on.
	for hop := range strings.SplitSeq(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",") {
		if hop = strings.TrimSpace(hop); hop != "" && !here(hop) {
			return strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
		}
	}
	return true
}

// here tells whether an address is this machine's loopback, or a unix socket's.
func here(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	if a, err := netip.ParseAddr(host); err == nil {
		return a.Unmap().IsLoopback()
	}
	return host == "" || host == "@"
}
