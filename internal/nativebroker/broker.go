package nativebroker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/alineo-labs/alineo-host/host/credential"
)

const (
	vaultPath = "/credential-vault"
	// maxReply bounds what a sidecar may answer, in bytes.
	maxReply = 1 << 20
	// attempts at a change that somebody else's came before, or at a sidecar that is starting.
	attempts = 5
	// firstWait is how long after the first attempt the second is; each further wait is twice as long.
	firstWait = 100 * time.Millisecond
)

// Options configure a Broker.
type Options struct {
	// Known are the values that Resolve knows, by reference.
	Known map[string]string
	// Lease is how long a value is good that Resolve returns; 0: it says nothing of an end.
	Lease time.Duration
}

// Broker delivers into the vault of a sandbox's sidecar.
type Broker struct {
	mu    sync.Mutex
	known map[string]string
	lease time.Duration
}

// New returns a broker.
func New(opts Options) *Broker {
	known := make(map[string]string)
	maps.Copy(known, opts.Known)
	return &Broker{known: known, lease: opts.Lease}
}

// Put makes a value known, in place of the one that the reference had.
func (b *Broker) Put(ref, value string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.known[ref] = value
}

// Features implements credential.Broker.
func (b *Broker) Features() credential.Features { return credential.Features{Resolve: true} }

// Resolve implements credential.Broker.
func (b *Broker) Resolve(_ context.Context, name string, source credential.Source) (credential.Resolved, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	value, ok := b.known[source.Ref]
	if !ok {
		return credential.Resolved{}, &credential.Error{Op: "resolving credential", Name: name, Err: credential.ErrNotFound}
	}
	found := credential.Resolved{Value: credential.NewSecret(value)}
	if b.lease > 0 {
		found.Expires = time.Now().Add(b.lease)
	}
	return found, nil
}

// Set implements credential.Broker.
func (b *Broker) Set(ctx context.Context, to credential.Sandbox, name string, value credential.Secret, binding credential.Binding) error {
	return failed("setting credential", to, name, again(ctx, func() (bool, error) {
		made := secretOf(name, value)
		bound := bindingOf(name, binding)
		now, err := read(ctx, to)
		if errors.Is(err, credential.ErrNotFound) {
			return send(ctx, to, http.MethodPost, document{Credentials: []secret{made}, Bindings: []vaultBinding{bound}})
		}
		if err != nil {
			return false, err
		}
		change := mutation{ExpectedRevision: now.Revision}
		if now.has(name) {
			change.Credentials = &secrets{Replace: []secret{made}}
			change.Bindings = &vaultBindings{Replace: []vaultBinding{bound}}
		} else {
			change.Credentials = &secrets{Add: []secret{made}}
			change.Bindings = &vaultBindings{Add: []vaultBinding{bound}}
		}
		return send(ctx, to, http.MethodPatch, change)
	}))
}

// Patch implements credential.Broker.
func (b *Broker) Patch(ctx context.Context, to credential.Sandbox, name string, change credential.Change) error {
	return failed("changing credential", to, name, again(ctx, func() (bool, error) {
		now, err := read(ctx, to)
		if err != nil {
			return false, err
		}
		if !now.has(name) {
			return false, credential.ErrNotFound
		}
		patch := mutation{ExpectedRevision: now.Revision}
		if change.Value != nil {
			patch.Credentials = &secrets{Replace: []secret{secretOf(name, *change.Value)}}
		}
		if change.Binding != nil {
			patch.Bindings = &vaultBindings{Replace: []vaultBinding{bindingOf(name, *change.Binding)}}
		}
		return send(ctx, to, http.MethodPatch, patch)
	}))
}

// Remove implements credential.Broker.
func (b *Broker) Remove(ctx context.Context, to credential.Sandbox, name string) error {
	return failed("removing credential", to, name, again(ctx, func() (bool, error) {
		now, err := read(ctx, to)
		if errors.Is(err, credential.ErrNotFound) || err == nil && !now.has(name) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		gone := []string{name}
		return send(ctx, to, http.MethodPatch, mutation{
			ExpectedRevision: now.Revision, Credentials: &secrets{Delete: gone}, Bindings: &vaultBindings{Delete: gone},
		})
	}))
}

// ListBindings implements credential.Broker.
func (b *Broker) ListBindings(ctx context.Context, of credential.Sandbox) ([]credential.Bound, error) {
	now, err := read(ctx, of)
	if errors.Is(err, credential.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, failed("listing credentials", of, "", err)
	}
	all := make([]credential.Bound, 0, len(now.Bindings))
	for _, bound := range now.Bindings {
		all = append(all, credential.Bound{Name: bound.Name, Binding: bound.binding()})
	}
	return all, nil
}

func failed(op string, to credential.Sandbox, name string, err error) error {
	if err == nil {
		return nil
	}
	return &credential.Error{Op: op, SandboxID: to.ID, Name: name, Err: err}
}

// again tries until there is nothing to be gained by it.
func again(ctx context.Context, try func() (retry bool, err error)) error {
	wait := firstWait
	for n := 1; ; n++ {
		retry, err := try()
		if !retry || n == attempts {
			return err
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return errors.Join(err, context.Cause(ctx))
		case <-timer.C:
		}
		wait *= 2
	}
}

func read(ctx context.Context, to credential.Sandbox) (*state, error) {
	_, body, err := ask(ctx, to, http.MethodGet, nil)
	if err != nil {
		return nil, err
	}
	now := &state{}
	if err := json.Unmarshal(body, now); err != nil {
		return nil, fmt.Errorf("reading the vault's state: %w", err)
	}
	return now, nil
}

func send(ctx context.Context, to credential.Sandbox, method string, body any) (retry bool, err error) {
	raw, err := json.Marshal(body) //nolint:gosec // the value goes to where it is used
	if err != nil {
		return false, fmt.Errorf("writing the request: %w", err)
	}
	retry, _, err = ask(ctx, to, method, raw)
	return retry, err
}

// ask sends a request. What a sidecar answers has no values.
func ask(ctx context.Context, to credential.Sandbox, method string, body []byte) (retry bool, reply []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, method, vaultPath, bytes.NewReader(body))
	if err != nil {
		return false, nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := to.Egress.Do(req)
	if err != nil {
		if method == http.MethodGet {
			return false, nil, fmt.Errorf("%w: %w", credential.ErrUnavailable, err)
		}
		return false, nil, fmt.Errorf("%w: %w", credential.ErrUnknownOutcome, err)
	}
	defer func() { _ = resp.Body.Close() }() // it is read
	reply, err = io.ReadAll(io.LimitReader(resp.Body, maxReply))
	if err != nil {
		return false, nil, fmt.Errorf("%w: reading the answer: %w", credential.ErrUnknownOutcome, err)
	}
	said := strings.TrimSpace(string(reply))
	switch resp.StatusCode {
	case http.StatusOK, http.StatusCreated, http.StatusNoContent:
		return false, reply, nil
	case http.StatusNotFound:
		return false, nil, fmt.Errorf("%w: %s", credential.ErrNotFound, said)
	case http.StatusConflict:
		return true, nil, fmt.Errorf("%w: %s", credential.ErrConflict, said)
	case http.StatusPreconditionFailed:
		if strings.Contains(said, "requires a credential proxy") {
			return false, nil, fmt.Errorf("%w: %s", credential.ErrNoProxy, said)
		}
		return true, nil, fmt.Errorf("%w: %s", credential.ErrUnavailable, said)
	case http.StatusInternalServerError, http.StatusBadGateway:
		return true, nil, fmt.Errorf("%w: %s", credential.ErrUnavailable, said)
	case http.StatusBadRequest, http.StatusUpgradeRequired:
		return false, nil, fmt.Errorf("%w: %s", credential.ErrInvalid, said)
	}
	return false, nil, fmt.Errorf("the sidecar answers %d: %s", resp.StatusCode, said)
}

func (s *state) has(name string) bool {
	return slices.ContainsFunc(s.Credentials, func(c named) bool { return c.Name == name })
}
