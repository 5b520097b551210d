package lifecycle

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"net"
	"net/http"
	"path/filepath"

	"github.com/alineo-labs/alineo-host/host/internal/engine/egress"
	"github.com/alineo-labs/alineo-host/host/internal/engine/shim"
	"github.com/alineo-labs/alineo-host/host/internal/engine/unixsock"
)

// egressPort is the port under which a sandbox's egress API is asked for.
const egressPort = 18080

// network is a sandbox's way out: by its policy, or to all that is public when it was given none. The
// egress API has a token to call it with only when there is a policy, as in the original.
func (m *Manager) network(rec *record, policy *egress.Policy) (*shim.Network, error) {
	if !m.opts.Egress {
		if policy == nil || policy.DefaultAction == egress.Deny && len(policy.Egress) == 0 {
			return nil, nil //nolint:nilnil // no way out is what was asked for, or all there is
		}
		return nil, problem(http.StatusBadRequest, codeInvalidParameter,
			"networkPolicy lets traffic out, and sandboxes have no network on this machine (see alineo-host doctor): leave it out, or deny everything")
	}
	token := newToken()
	if policy == nil {
		return &shim.Network{Policy: &egress.Policy{DefaultAction: egress.Allow}, Token: token}, nil
	}
	if err := policy.Check(); err != nil {
		return nil, problem(http.StatusBadRequest, codeInvalidParameter, "networkPolicy: %v", err)
	}
	if len(policy.Egress) > egress.DefaultMaxRules {
		return nil, problem(http.StatusBadRequest, codeInvalidParameter, "networkPolicy has %d rules, and %d are the most", len(policy.Egress), egress.DefaultMaxRules)
	}
	rec.EgressToken = token
	return &shim.Network{Policy: policy, Token: token}, nil
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
