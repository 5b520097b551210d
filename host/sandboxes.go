package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alineo-labs/alineo-host/host/config"
	"github.com/alineo-labs/alineo-host/host/engine"
	"github.com/alineo-labs/alineo-host/host/internal/drivers"
	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/sandbox"
)

// Sandboxes returns the client that makes and resumes sandboxes. The first call starts the embedded
// engine, or uses the one that another process runs on the same data directory; a failed start is
// tried again by the next call.
func (h *Host) Sandboxes(ctx context.Context) (*sandbox.Client, error) {
	h.opening.Lock()
	defer h.opening.Unlock()
	h.mu.Lock()
	client, closed := h.client, h.closed
	h.mu.Unlock()
	if closed {
		return nil, ErrClosed
	}
	if client != nil {
		return client, nil
	}
	wire, eng, err := h.connect(ctx)
	if err != nil {
		return nil, err
	}
	client, found, err := h.newClient(wire)
	if err == nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		if !h.closed {
			h.client, h.wire, h.engine, h.drivers = client, wire, eng, found
			return client, nil
		}
		err = ErrClosed
	}
	if eng != nil {
		err = errors.Join(err, eng.Close(ctx))
	}
	return nil, err
}

// Wire returns the client of the sandbox server itself, which records nothing. It starts the embedded
// engine as Sandboxes does.
func (h *Host) Wire(ctx context.Context) (*opensandbox.Client, error) {
	if _, err := h.Sandboxes(ctx); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.wire, nil
}

// connect returns the wire client of the configured server, and the engine when it is ours.
func (h *Host) connect(ctx context.Context) (*opensandbox.Client, *engine.Engine, error) {
	opts := opensandbox.Options{
		BaseURL: h.cfg.Sandbox.URL, APIKey: h.cfg.Sandbox.APIKey.Reveal(),
		UseServerProxy: h.cfg.Sandbox.UseServerProxy, Transport: h.transport, UserAgent: "alineo-host/" + version,
		Traceparent: h.traceparent(),
	}
	var eng *engine.Engine
	if h.cfg.Sandbox.URL == config.Embedded {
		var err error
		eng, err = engine.Open(ctx, EngineOptions(h.cfg, h.log))
		if err != nil {
			return nil, nil, err // it says already what was opened
		}
		opts.BaseURL, opts.Transport, opts.APIKey, opts.UseServerProxy = eng.BaseURL(), eng.Transport(), "", true
	}
	wire, err := opensandbox.New(opts)
	if err != nil {
		err = fmt.Errorf("connecting to the sandbox server: %w", err)
		if eng != nil {
			err = errors.Join(err, eng.Close(ctx))
		}
		return nil, nil, err
	}
	return wire, eng, nil
}

func (h *Host) newClient(wire *opensandbox.Client) (*sandbox.Client, *drivers.Drivers, error) {
	var key ledger.DigestKey
	if h.cfg.Ledger.DigestKey.IsSet() {
		var err error
		key, err = ledger.NewDigestKey(h.cfg.Ledger.DigestKeyID, []byte(h.cfg.Ledger.DigestKey.Reveal()))
		if err != nil {
			return nil, nil, fmt.Errorf("using ledger.digest_key: %w", err)
		}
	}
	broker := h.given
	if broker == nil && h.cfg.Credentials.Broker != "" {
		broker = lateBroker{h}
	}
	found := drivers.New(h.cfg.Engine.Data, h.log.Named("drivers"))
	client, err := sandbox.New(sandbox.Options{
		Broker: broker, Hooks: h.hooks, Drivers: found,
		Wire: wire, Store: h.store, Ledger: h.writer, Logger: h.log.Named("sandbox"), TracerProvider: h.tracers,
		MaxConcurrency: h.cfg.Sandbox.MaxConcurrency, DigestKey: key,
		Image: h.cfg.Sandbox.Image, Lifetime: time.Duration(h.cfg.Sandbox.Timeout),
		KeepAlive: h.cfg.Sandbox.KeepAlive, ResolveCredential: h.resolve,
	})
	return client, found, err
}
