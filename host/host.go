package host

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"github.com/hashicorp/go-hclog"
	"go.opentelemetry.io/otel/trace"

	"github.com/alineo-labs/alineo-host/host/config"
	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/durable"
	"github.com/alineo-labs/alineo-host/host/engine"
	"github.com/alineo-labs/alineo-host/host/internal/adapter"
	"github.com/alineo-labs/alineo-host/host/internal/drivers"
	"github.com/alineo-labs/alineo-host/host/internal/plugin"
	"github.com/alineo-labs/alineo-host/host/internal/telemetry"
	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/sandbox"
	"github.com/alineo-labs/alineo-host/host/store"
	"github.com/alineo-labs/alineo-host/plugins"
)

// ErrClosed is returned by every method of a closed Host.
var ErrClosed = errors.New("host is closed")

// Init must be the first call of main in a program that uses the embedded engine: when the engine
// has started the program as a sandbox's shim or first process, Init does that work and does not
// return. Otherwise it returns at once.
func Init() { engine.Init() }

// LoadConfig loads a configuration file: the named one, else $ALINEO_CONFIG, else ./alineo.toml
// when it exists, else the defaults. The error holds all problems, each with its line. Options may say
// more, such as config.WithLedger, to open another ledger of the same file.
func LoadConfig(path string, opts ...config.Option) (*config.Config, error) {
	return config.Load(config.Find(path), append([]config.Option{config.WithBundled(plugins.Names()...)}, opts...)...)
}

// Host is an opened configuration.
type Host struct {
	cfg     *config.Config
	log     hclog.Logger
	runtime *plugin.Runtime // nil when the store is the embedder's
	store   store.Ledger
	writer  *ledger.Writer
	// redactor knows the configuration's secrets and what is bound, and takes them out of whatever is
	// written.
	redactor *credential.Redactor
	resolve  credential.Resolver // the embedder's; may be nil

	transport http.RoundTripper
	tracers   trace.TracerProvider // nil: nobody wants spans
	telemetry *telemetry.Provider  // ours, of [telemetry]; nil: none

	loading sync.Mutex // of plugins, which takes a while
	opening sync.Mutex // of client and engine, which takes a while

	hooks     *sandbox.Hooks
	given     credential.Broker // the embedder's
	brokering sync.Mutex        // of broker
	broker    credential.Broker // nil until it is asked for

	mu     sync.Mutex // guards what follows
	client *sandbox.Client
	wire   *opensandbox.Client

	loaded  []*loaded
	drivers *drivers.Drivers
	engine  *engine.Engine // nil when the server is remote or not used yet
	closed  bool

	runStores *RunStores    // nil when they are not used yet
	runs      *durable.Runs // the same
}

// Option gives a Host what a file can't.
type Option func(*Host)

// WithLogger logs there instead of to standard error.
func WithLogger(log hclog.Logger) Option { return func(h *Host) { h.log = log } }

// WithStore keeps the ledger in the embedder's own store instead of a plugin. The Host closes it. With
// store.Discard the ledger is off.
func WithStore(st store.Ledger) Option { return func(h *Host) { h.store = st } }

// WithTransport sends the requests to a remote sandbox server through it.
func WithTransport(rt http.RoundTripper) Option { return func(h *Host) { h.transport = rt } }

// WithTracerProvider sends spans of what the host does to the embedder's own OpenTelemetry, whatever
// [telemetry] says. They carry no commands, output or secrets. The embedder shuts it down.
func WithTracerProvider(tp trace.TracerProvider) Option { return func(h *Host) { h.tracers = tp } }

// WithBroker binds credentials with the embedder's own broker, whatever [credentials] says.
func WithBroker(broker credential.Broker) Option {
	return func(h *Host) { h.given, h.broker = broker, broker }
}

// WithCredentialResolver asks for the values of credentials that have to be bound again and that the host
// can't get by itself.
func WithCredentialResolver(resolve credential.Resolver) Option {
	return func(h *Host) { h.resolve = resolve }
}

// WithHooks has hooks called for every sandbox of the host, before those that it has of its own.
func WithHooks(hooks *sandbox.Hooks) Option { return func(h *Host) { h.hooks = hooks } }

// Open loads what cfg names. What it returns is ready; the caller must Close it.
func Open(ctx context.Context, cfg *config.Config, opts ...Option) (*Host, error) {
	h := &Host{cfg: cfg, redactor: credential.NewRedactor()}
	for _, opt := range opts {
		opt(h)
	}
	if h.log == nil {
		h.log = newLogger(cfg.Log)
	}
	h.log = h.redactor.Logger(h.log)
	for _, secret := range cfg.EachSecret() {
		h.redactor.Add(credential.NewSecret(secret.Reveal()))
	}
	if err := h.openTelemetry(ctx); err != nil {
		return nil, err
	}
	if h.store == nil {
		st, err := h.openLedger(ctx)
		if err != nil {
			err = errors.Join(err, h.closePlugins(ctx))
			h.closeTelemetry(ctx)
			return nil, err
		}
		h.store = st
	}
	h.writer = ledger.NewWriter(h.store, ledger.WriterOptions{
		Logger: h.log.Named("ledger"), TracerProvider: h.tracers, Redactor: h.redactor, KeepSecrets: !cfg.Ledger.Redact,
	})
	return h, nil
}

func newLogger(cfg config.Log) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{
		Name: "alineo-host", Level: hclog.LevelFromString(cfg.Level), JSONFormat: cfg.JSON, Output: os.Stderr,
	})
}

// openLedger loads the plugin that [ledger] names.
func (h *Host) openLedger(ctx context.Context) (store.Ledger, error) {
	p, err := h.load(ctx, h.cfg.Ledger.Plugin)
	if err != nil {
		return nil, fmt.Errorf("opening the ledger: %w", err)
	}
	if err := p.needKind("ledger"); err != nil {
		return nil, fmt.Errorf("opening the ledger: %w", err)
	}
	return adapter.NewLedger(p.seat), nil
}

// Config returns the configuration, which must not be changed.
func (h *Host) Config() *config.Config { return h.cfg }

// Logger returns where the host logs, which takes known secrets out of whatever is logged.
func (h *Host) Logger() hclog.Logger { return h.log }

// Store returns the ledger's store, for reading. Writing past the Writer breaks the order that it
// keeps.
func (h *Host) Store() store.Ledger { return h.store }

// CheckLedger asks the ledger for a sandbox that it has not, and so opens its database: one that
// can't be used is told, with its place, before a sandbox is made for it.
func (h *Host) CheckLedger(ctx context.Context) error {
	_, err := h.store.GetSandbox(ctx, store.Key{Name: "-", SandboxID: "-"})
	if err == nil || errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if failed, ok := errors.AsType[*plugin.Error](err); ok {
		err = failed // without the sandbox that was asked for
	}
	return fmt.Errorf("using the ledger %s: %w", h.LedgerText(), err)
}

// Writer returns the ledger's writer.
func (h *Host) Writer() *ledger.Writer { return h.writer }

// Close stops taking work, commits what was accepted, and releases everything. Sandboxes that were
// not closed go on until their time is up. It is idempotent and joins all errors; ctx bounds the
// draining.
func (h *Host) Close(ctx context.Context) error {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil
	}
	h.closed = true
	client, eng, runs, found := h.client, h.engine, h.runs, h.drivers
	h.mu.Unlock()

	var errs []error
	if runs != nil {
		if err := runs.Close(ctx); err != nil {
			errs = append(errs, err)
		}
	}
	if client != nil {
		if err := client.Close(ctx); err != nil {
			errs = append(errs, err)
		}
	}
	if found != nil {
		found.Close(ctx)
	}
	if err := h.writer.Close(ctx); err != nil {
		errs = append(errs, fmt.Errorf("draining the ledger: %w", err))
	}
	if eng != nil {
		if err := eng.Close(ctx); err != nil {
			errs = append(errs, fmt.Errorf("closing the engine: %w", err))
		}
	}
	if err := h.store.Close(ctx); err != nil {
		errs = append(errs, fmt.Errorf("closing the ledger: %w", err))
	}
	errs = append(errs, h.closePlugins(ctx))
	h.closeTelemetry(ctx)
	return errors.Join(errs...)
}

func (h *Host) closePlugins(ctx context.Context) error {
	var errs []error
	for _, p := range h.inUse() {
		if err := p.close(ctx); err != nil {
			errs = append(errs, err)
		}
	}
	if h.runtime != nil {
		if err := h.runtime.Close(ctx); err != nil {
			errs = append(errs, fmt.Errorf("closing the plugin runtime: %w", err))
		}
	}
	return errors.Join(errs...)
}

// cacheDir is where compiled plugins are kept; empty when there is no place for it.
func cacheDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "alineo-host", "plugins")
}
