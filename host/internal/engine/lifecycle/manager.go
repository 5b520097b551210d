package lifecycle

import (
	"context"
	"errors"
	"fmt"
	stdlog "log"
	"net/http"
	"os"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sync/singleflight"

	"github.com/alineo-labs/alineo-host/host/internal/engine/image"
	"github.com/alineo-labs/alineo-host/host/internal/engine/jail"
)

// Manager owns the sandboxes of a data directory. It is safe for concurrent
// use.
type Manager struct {
	opts  Options
	log   hclog.Logger
	quiet *stdlog.Logger // for net/http's own complaints
	base  baseCache

	spares spares
	claims claims

	images  *image.Store
	fetches singleflight.Group // of images, by name

	ctx  context.Context //nolint:containedctx // the life of the watchers
	stop context.CancelFunc
	jobs sync.WaitGroup // watchers and snapshots
	gate gate           // requests that make, change or remove something

	leaving chan struct{} // closed when nothing waits any longer
	left    sync.Once

	mu        sync.Mutex
	sandboxes map[string]*sandbox
	snapshots map[string]*snapshot
}

// Open takes over what is in the data directory.
func Open(ctx context.Context, opts Options) (*Manager, error) {
	if opts.Logger == nil {
		opts.Logger = hclog.NewNullLogger()
	}
	if opts.AdoptWithin == 0 {
		opts.AdoptWithin = bootTime
	}
	m := &Manager{opts: opts, log: opts.Logger, sandboxes: map[string]*sandbox{}, snapshots: map[string]*snapshot{}, leaving: make(chan struct{})}
	m.quiet = opts.Logger.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug})
	m.base.manager, m.spares.manager, m.claims = m, m, claims{manager: m, using: map[string]int{}}
	m.ctx, m.stop = context.WithCancel(context.WithoutCancel(ctx))
	for _, d := range []string{sandboxesDir, sparesDir, snapshotsDir, baseDir, volumesDir} {
		err := os.MkdirAll(m.path(d), 0o700)
		if err == nil {
			// Sandboxes make setuid files, and as root's: nobody else may
			// reach them here.
			err = os.Chmod(m.path(d), 0o700)
		}
		if err != nil {
			return nil, fmt.Errorf("making the data directory: %w", err)
		}
	}
	var err error
	if m.images, err = Images(opts.DataDir); err != nil {
		return nil, err
	}
	if err := errors.Join(m.adoptSnapshots(), m.adoptSandboxes(ctx), m.sweepSpares(ctx)); err != nil {
		m.Close()
		return nil, err
	}
	m.base.clean()
	m.claims.sweep()
	if m.isolated() {
		m.jobs.Go(func() {
			_, _ = m.base.current() // the first sandbox asks again
		})
	}
	return m, nil
}

// Expect tells that sandboxes will be asked for: the first is begun now.
func (m *Manager) Expect() {
	m.spares.mu.Lock()
	m.spares.eager = true
	m.spares.mu.Unlock()
	m.spares.ahead()
}

// Settle returns when no request is making or removing anything, and none can
// any more: then another engine may take over. Requests that wait for a paused
// sandbox are let go. Nobody cleans up after sandboxes from then on: what is
// still in use, only the next engine knows.
func (m *Manager) Settle(ctx context.Context) error {
	m.left.Do(func() { close(m.leaving) })
	m.spares.close()
	var err error
	select {
	case <-m.gate.shut():
	case <-ctx.Done():
		m.gate.shutNow()
		err = fmt.Errorf("waiting for sandboxes that are being made: %w", ctx.Err())
	}
	m.stop()
	watched := make(chan struct{})
	go func() {
		m.jobs.Wait()
		close(watched)
	}()
	select {
	case <-watched:
	case <-ctx.Done():
		if err == nil {
			err = fmt.Errorf("waiting for what cleans up after sandboxes: %w", ctx.Err())
		}
	}
	return err
}

// Close stops watching. Sandboxes go on; snapshots that are being made are
// waited for.
func (m *Manager) Close() {
	m.spares.close()
	m.stop()
	m.jobs.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.sandboxes {
		s.transport.CloseIdleConnections()
	}
}

// Sandbox returns a sandbox, or a Problem with status 404.
func (m *Manager) sandbox(id string) (*sandbox, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sandboxes[id]
	if s == nil {
		return nil, problem(http.StatusNotFound, codeSandboxNotFound, "Sandbox %s not found.", id)
	}
	return s, nil
}

// list returns the sandboxes that match, newest first.
func (m *Manager) list(states []string, metadata map[string]string) []*sandbox {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []*sandbox
	for _, s := range m.sandboxes {
		state := s.status().State
		if len(states) > 0 && !slices.ContainsFunc(states, func(w string) bool { return strings.EqualFold(w, state) }) {
			continue
		}
		if s.matches(metadata) {
			out = append(out, s)
		}
	}
	sort.Slice(out, func(i, j int) bool {
		a, b := out[i], out[j]
		if !a.createdAt.Equal(b.createdAt) {
			return a.createdAt.After(b.createdAt)
		}
		return a.id > b.id
	})
	return out
}

func (m *Manager) forget(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.sandboxes[id]; s != nil {
		delete(m.sandboxes, id)
		s.transport.CloseIdleConnections()
	}
}

// delete ends a sandbox.
func (m *Manager) delete(ctx context.Context, id string) error {
	s, err := m.sandbox(id)
	if err != nil {
		return err
	}
	started := time.Now()
	if err := s.destroy(ctx, m); err != nil {
		return problem(http.StatusInternalServerError, codeDeleteFailed, "Failed to delete sandbox %s: %v", id, err)
	}
	m.forget(id)
	m.claims.sweep()
	m.log.Info("sandbox deleted", "op", "delete", "sandbox", id, "dur_ms", time.Since(started).Milliseconds())
	return nil
}

// renew sets a new end.
func (m *Manager) renew(ctx context.Context, id string, at time.Time) error {
	s, err := m.sandbox(id)
	if err != nil {
		return err
	}
	if !at.After(time.Now()) {
		return problem(http.StatusBadRequest, codeInvalidExpiration, "New expiration time must be in the future.")
	}
	if s.expiry().IsZero() {
		return problem(http.StatusConflict, codeInvalidExpiration, "Sandbox %s does not have automatic expiration enabled.", id)
	}
	s.renewing.Lock() // else the shim may have the end of one, and the record that of another
	defer s.renewing.Unlock()
	if err := s.shim.Renew(ctx, at); err != nil {
		return s.orGone(fmt.Errorf("renewing sandbox %s: %w", id, err))
	}
	return s.setExpiry(m, at)
}

// renewOnAccess lets a sandbox that asked for that live longer because
// somebody uses it. It writes no more often than a tenth of the extension.
func (m *Manager) renewOnAccess(s *sandbox) {
	rec := s.record()
	at := time.Now().UTC().Truncate(time.Microsecond).Add(rec.RenewBy)
	if rec.RenewBy == 0 || rec.ExpiresAt.IsZero() || at.Sub(rec.ExpiresAt) < rec.RenewBy/10 {
		return
	}
	err := m.gate.enter()
	if err == nil {
		defer m.gate.leave()
		err = m.renew(m.ctx, rec.ID, at)
	}
	if err != nil {
		m.log.Warn("renewing a sandbox that is used", "op", "renew", "sandbox", rec.ID, "err", err)
	}
}

// isolated tells whether sandboxes have overlays and namespaces.
func (m *Manager) isolated() bool { return m.opts.Level == jail.Namespaces }
