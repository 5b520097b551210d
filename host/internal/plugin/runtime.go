package plugin

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/alineo-labs/alineo-host/host/internal/span"
)

// DefaultCacheBytes bounds the compile cache when RuntimeOptions don't.
const DefaultCacheBytes = 256 << 20

// RuntimeOptions configure a Runtime. The zero value works.
type RuntimeOptions struct {
	CacheDir   string // where machine code is kept; empty: nowhere
	CacheBytes int64  // bound of CacheDir; 0: DefaultCacheBytes
	Logger     hclog.Logger
	// Tracer gets a span of each call, whose trace context guests are told. Nil: nobody does.
	Tracer *span.Tracer
}

// Runtime loads plugins. It is safe for concurrent use.
type Runtime struct {
	logger     hclog.Logger
	tracer     *span.Tracer
	cache      *cache // nil: none
	cacheErr   error  // why there is none
	clock      clock
	calls      atomic.Uint64 // ids given out
	background sync.WaitGroup

	mu      sync.Mutex
	plugins map[*Plugin]struct{}
	closed  bool
}

// NewRuntime returns a runtime. A cache directory that cannot be used is no error: it is logged, and
// CacheError tells why.
func NewRuntime(_ context.Context, opts RuntimeOptions) (*Runtime, error) {
	r := &Runtime{
		logger: opts.Logger, tracer: opts.Tracer, clock: clock{epoch: time.Now()},
		plugins: map[*Plugin]struct{}{},
	}
	if r.logger == nil {
		r.logger = hclog.NewNullLogger()
	}
	if opts.CacheBytes < 0 {
		return nil, fmt.Errorf("making plugin runtime: cache of %d bytes", opts.CacheBytes)
	}
	if opts.CacheBytes == 0 {
		opts.CacheBytes = DefaultCacheBytes
	}
	if opts.CacheDir != "" {
		if r.cache, r.cacheErr = openCache(opts.CacheDir, opts.CacheBytes); r.cacheErr != nil {
			r.logger.Warn("plugins are compiled again at each start", "err", r.cacheErr)
		}
	}
	return r, nil
}

// CacheError says why the cache directory is not used, or returns nil.
func (r *Runtime) CacheError() error { return r.cacheErr }

// Close closes all plugins and joins their errors. It is idempotent. When ctx ends first, calls are
// ended too.
func (r *Runtime) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	plugins := make([]*Plugin, 0, len(r.plugins))
	for p := range r.plugins {
		plugins = append(plugins, p)
	}
	r.mu.Unlock()
	var errs []error
	for _, p := range plugins {
		errs = append(errs, p.Close(ctx))
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.background.Wait()
	}()
	select {
	case <-done:
	case <-ctx.Done():
		errs = append(errs, fmt.Errorf("closing plugin runtime: %w", ctx.Err()))
	}
	return errors.Join(errs...)
}

// add registers a plugin, unless the runtime is closed.
func (r *Runtime) add(p *Plugin) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	r.plugins[p] = struct{}{}
	return true
}

func (r *Runtime) remove(p *Plugin) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.plugins, p)
}

// spawn runs f in a goroutine that Close waits for, unless the runtime is closed.
func (r *Runtime) spawn(f func()) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	r.background.Go(f)
	return true
}
