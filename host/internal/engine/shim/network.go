//go:build unix

package shim

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/alineo-labs/alineo-host/host/internal/engine/egress"
	"github.com/alineo-labs/alineo-host/host/internal/engine/intercept"
	"github.com/alineo-labs/alineo-host/host/internal/engine/trail"
	"github.com/alineo-labs/alineo-host/host/internal/engine/trust"
	"github.com/alineo-labs/alineo-host/host/internal/engine/unixsock"
	"github.com/alineo-labs/alineo-host/host/internal/engine/vault"
)

// prepareCredentials makes the authority that the sandbox is going to trust. Its key never leaves this
// process.
func (s *keeper) prepareCredentials() error {
	if s.config.Network == nil || !s.config.Network.Credentials {
		return nil
	}
	var err error
	if s.authority, err = intercept.NewAuthority(); err != nil {
		return err
	}
	roots, err := trust.Machine()
	if err != nil {
		return err
	}
	extra := make([]string, 0, len(trust.Environment()))
	for name := range trust.Environment() {
		extra = append(extra, s.config.Guest.Env[name])
	}
	s.config.Guest.Trust = &trust.Authority{Certificate: s.authority.PEM(), Roots: roots, Extra: extra}
	return nil
}

// openNetwork answers what the sandbox sends out, as long as this process lives, and serves the egress
// API.
func (s *keeper) openNetwork() error {
	n := s.config.Network
	store := vault.NewStore()
	opts := egress.Options{Policy: n.Policy, Record: s.trail.Add, Check: store.CheckPolicy}
	if n.Nameserver != "" {
		opts.Resolve = resolveWith(n.Nameserver)
	}
	gateway, err := egress.NewGateway(opts)
	if err != nil {
		return err
	}
	api := vault.NewServer(nil, gateway, func() {})
	if n.Credentials {
		if api, err = s.openVault(gateway, store); err != nil {
			return err
		}
	}
	l, err := unixsock.Listen(filepath.Join(s.config.Dir, EgressSocket))
	if err != nil {
		return err
	}
	if _, err := gateway.Serve(s.init.sockets); err != nil {
		return err
	}
	srv := &http.Server{
		Handler: egress.NewServer(gateway, n.Token, api), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second,
	}
	go func() { _ = srv.Serve(l) }() // ends with this process
	return nil
}

// proxyProcs is how many processors a shim may use that encrypts for its sandbox, outside of the sandbox's
// limits.
const proxyProcs = 2

// openVault makes the credential proxy.
func (s *keeper) openVault(gateway *egress.Gateway, store *vault.Store) (*vault.Server, error) {
	if err := conceal(); err != nil {
		return nil, err
	}
	runtime.GOMAXPROCS(proxyProcs)
	roots, err := upstreamRoots(s.config.Network.Roots)
	if err != nil {
		return nil, err
	}
	proxy := intercept.New(intercept.Options{
		Authority: s.authority, Rules: store.Rules, Dial: gateway.Dial, Allowed: gateway.Allows, Record: s.trail.Add, Roots: roots,
	})
	gateway.Intercept(proxy)
	return vault.NewServer(store, gateway, gateway.Cut), nil
}

// upstreamRoots are the machine's, and those in a file.
func upstreamRoots(file string) (*x509.CertPool, error) {
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("reading the certificates that this machine trusts: %w", err)
	}
	if file == "" {
		return pool, nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the certificates of upstreams: %w", err)
	}
	if !pool.AppendCertsFromPEM(b) {
		return nil, fmt.Errorf("reading the certificates of upstreams: there is none in %q", file)
	}
	return pool, nil
}

// resolveWith looks names up with one server.
func resolveWith(server string) func(ctx context.Context, name string) ([]netip.Addr, error) {
	r := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, server)
	}}
	return func(ctx context.Context, name string) ([]netip.Addr, error) {
		return r.LookupNetIP(ctx, "ip", name+".") //nolint:wrapcheck // told by its kind
	}
}

// attempts answers with what the sandbox tried to reach.
func (s *keeper) attempts(w http.ResponseWriter) {
	entries := s.trail.Entries()
	if entries == nil {
		entries = []trail.Entry{}
	}
	if err := json.NewEncoder(w).Encode(entries); err != nil {
		return // the engine has gone
	}
}
