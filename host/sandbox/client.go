package sandbox

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/semaphore"

	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/internal/span"
	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

// What Options leave open.
const (
	DefaultShell        = "/bin/sh"
	DefaultResultBytes  = 16 << 20
	DefaultReadyTimeout = 2 * time.Minute
	DefaultExecdTimeout = 80 * time.Second
)

var errClientClosed = fmt.Errorf("the client is %w", ErrClosed)

// Options configures a Client. Wire, Store and Ledger are required.
type Options struct {
	Wire   *opensandbox.Client
	Store  store.Ledger
	Ledger *ledger.Writer // over Store
	Logger hclog.Logger   // nil: none
	// TracerProvider gets spans of what is done; nil: nobody does. See the package's documentation.
	TracerProvider trace.TracerProvider

	// MaxConcurrency is how many sandboxes may be open at once; 0: no limit. Who waits first gets
	// the next one that is closed.
	MaxConcurrency int
	// DigestKey keys the digests of new execs. OldDigestKeys are keys that recorded ones may have
	// been made with.
	DigestKey     ledger.DigestKey
	OldDigestKeys []ledger.DigestKey

	// Drivers is how others find who drives a sandbox, to have it change something; nil: they can't, and
	// become the driver themselves. See [Client.Operate].
	Drivers Drivers

	// Hooks are called for every sandbox of the client, also for one that has no hooks of its own, and before
	// those.
	Hooks *Hooks

	// Broker binds credentials; nil: there are none.
	Broker credential.Broker
	// ResolveCredential is asked for the values of credentials that are to be bound again, when whoever
	// resumes or forks gives no resolver of their own.
	ResolveCredential credential.Resolver
	// LookupEnv is where values with a source of type env are. Default os.LookupEnv.
	LookupEnv func(name string) (string, bool)
	// LiveSecrets gives readers of output the text as it came. What is recorded is redacted all the same.
	LiveSecrets bool

	// What CreateOptions leave open.
	Image     string
	Resources Resources     // default 1 cpu and 2Gi
	Lifetime  time.Duration // 0: the server's own rule
	// KeepAlive lets a sandbox's lifetime begin anew as long as something runs in it.
	KeepAlive bool

	// ReadyTimeout is how long a sandbox may take to run, and a snapshot to be ready. Default 2 min.
	ReadyTimeout time.Duration
	// ExecdTimeout is how long a running sandbox may take to answer. Default 80 s.
	ExecdTimeout time.Duration
	// ResultBytes is how much of each of stdout and stderr a Result keeps. Default 16 MiB.
	ResultBytes int
}

// Resources is what a sandbox may use, in Kubernetes' words: "500m" cpus, "512Mi" of memory.
type Resources struct {
	CPU    string `json:"cpu,omitempty"`
	Memory string `json:"memory,omitempty"`
	GPU    string `json:"gpu,omitempty"`
}

func (r Resources) limits() map[string]string {
	limits := make(map[string]string, 3)
	for key, value := range map[string]string{"cpu": r.CPU, "memory": r.Memory, "gpu": r.GPU} {
		if value != "" {
			limits[key] = value
		}
	}
	return limits
}

// or fills what is empty from other.
func (r Resources) or(other Resources) Resources {
	pick := func(a, b string) string {
		if a != "" {
			return a
		}
		return b
	}
	return Resources{CPU: pick(r.CPU, other.CPU), Memory: pick(r.Memory, other.Memory), GPU: pick(r.GPU, other.GPU)}
}

// Client makes and resumes sandboxes. It is safe for concurrent use.
type Client struct {
	opts  Options
	wire  *opensandbox.Client
	store store.Ledger
	log   hclog.Logger
	slots *semaphore.Weighted // nil: no limit; first come, first served
	trace *span.Tracer

	builds builds

	quit context.Context //nolint:containedctx // ends with Close, for those who wait for a slot
	stop context.CancelCauseFunc

	mu     sync.Mutex
	closed bool
	busy   sync.WaitGroup // sandboxes and snapshots that are being made, or deleted after their caller has left
}

// New returns a client. It does no I/O.
func New(opts Options) (*Client, error) {
	if opts.Wire == nil || opts.Store == nil || opts.Ledger == nil {
		return nil, fmt.Errorf("making sandbox client: %w: it needs a wire client, a store and a ledger writer", ErrInvalid)
	}
	if opts.MaxConcurrency < 0 {
		return nil, fmt.Errorf("making sandbox client: %w: max concurrency %d is negative", ErrInvalid, opts.MaxConcurrency)
	}
	opts.Resources = opts.Resources.or(Resources{CPU: "1", Memory: "2Gi"})
	if opts.ReadyTimeout <= 0 {
		opts.ReadyTimeout = DefaultReadyTimeout
	}
	if opts.ExecdTimeout <= 0 {
		opts.ExecdTimeout = DefaultExecdTimeout
	}
	if opts.ResultBytes <= 0 {
		opts.ResultBytes = DefaultResultBytes
	}
	if opts.Logger == nil {
		opts.Logger = hclog.NewNullLogger()
	}
	opts.Logger = opts.Ledger.Redactor().Logger(opts.Logger)
	opts.LookupEnv = lookupEnv(opts.LookupEnv)
	c := &Client{opts: opts, wire: opts.Wire, store: opts.Store, log: opts.Logger, trace: span.New(opts.TracerProvider)}
	c.quit, c.stop = context.WithCancelCause(context.Background())
	if opts.MaxConcurrency > 0 {
		c.slots = semaphore.NewWeighted(int64(opts.MaxConcurrency))
	}
	return c, nil
}

// Close makes no more sandboxes, turns away who waits for a place, and waits for those that are being
// made, and for the deletion of those, and of snapshots, whose callers left meanwhile. Handles stay usable,
// and their sandboxes go on. It may be called several times.
func (c *Client) Close(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.stop(errClientClosed)
	done := make(chan struct{})
	go func() {
		c.busy.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("closing sandbox client: some sandboxes are still being made or cleaned up: %w", context.Cause(ctx))
	}
}

// begin counts a sandbox that is being made until done is called.
func (c *Client) begin() (done func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errClientClosed
	}
	c.busy.Add(1)
	return c.busy.Done, nil
}

// behind does something that a caller need not wait for. Close does, when it comes later.
func (c *Client) behind(do func()) {
	done, err := c.begin()
	if err != nil {
		done = func() {} // a handle may outlive its client
	}
	go func() {
		defer done()
		do()
	}()
}

// acquire waits for the right to one open sandbox. Giving it back twice is the same as once.
func (c *Client) acquire(ctx context.Context) (release func(), err error) {
	if c.slots == nil {
		return func() {}, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.quit, func() { cancel(errClientClosed) })()
	if err := c.slots.Acquire(ctx, 1); err != nil {
		return nil, fmt.Errorf("waiting for one of %d sandboxes to be closed: %w", c.opts.MaxConcurrency, context.Cause(ctx))
	}
	return sync.OnceFunc(func() { c.slots.Release(1) }), nil
}

// unwritten reports whether an entry is known not to be in the ledger.
func unwritten(err error) bool {
	return errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrInvalid) || errors.Is(err, store.ErrConflict)
}
