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
	// maxReply bounds what a sidecar may answer, in bytes.
	maxReply = 1 << 20
	// attempts at a change that somebody else's came before.
	attempts = 8
	// settleTime is how long a sidecar that does not say so takes to follow its vault.
	settleTime = 600 * time.Millisecond
)

// Options configure a Broker.
type Options struct {
	// Known are the values that Resolve knows, by reference; nil: it declares that it finds none.
	Known map[string]string
	// Lease is how long a value is good that Resolve returns; 0: it says nothing of an end.
	Lease time.Duration
}

// Broker delivers into the vault of a sandbox's sidecar. It is safe for concurrent use.
type Broker struct {
	mu    sync.Mutex
	known map[string]string
	lease time.Duration
}

// New returns a broker.
func New(opts Options) *Broker { return &Broker{known: maps.Clone(opts.Known), lease: opts.Lease} }

// Put makes a value known, in place of the one that the reference had.
func (b *Broker) Put(ref, value string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.known == nil {
		b.known = make(map[string]string)
	}
	b.known[ref] = value
}

// Features implements credential.Broker.
func (b *Broker) Features() credential.Features {
	b.mu.Lock()
	defer b.mu.Unlock()
	return credential.Features{Resolve: b.known != nil}
}

// Resolve implements credential.Broker.
func (b *Broker) Resolve(_ context.Context, name string, source credential.Source) (credential.Resolved, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fault := &credential.Error{Op: "resolving credential", Name: name, Err: credential.ErrNotFound}
	if b.known == nil {
		fault.Err = credential.ErrUnsupported
		return credential.Resolved{}, fault
	}
	value, ok := b.known[source.Ref]
	if !ok {
		return credential.Resolved{}, fault
	}
	found := credential.Resolved{Value: credential.NewSecret(value)}
	if b.lease > 0 {
		found.Expires = time.Now().Add(b.lease)
	}
	return found, nil
}

func failed(op string, to credential.Sandbox, name string, err error) error {
	if err == nil {
		return nil
	}
	return &credential.Error{Op: op, SandboxID: to.ID, Name: name, Err: err}
}

// Set implements credential.Broker.
func (b *Broker) Set(ctx context.Context, to credential.Sandbox, name string, value credential.Secret, binding credential.Binding) error {
	return failed("setting credential", to, name, set(ctx, to, name, value.Reveal(), binding))
}

func set(ctx context.Context, to credential.Sandbox, name, value string, binding credential.Binding) error {
	got, err := ask(ctx, to, http.MethodPost, object{
		"credentials": []object{valueDoc(name, value)}, "bindings": []object{bindingDoc(name, binding)},
	})
	switch {
	case err != nil:
		return err
	case got.status == http.StatusConflict:
		return change(ctx, to, value, func(s *state) (object, error) {
			credentials, bindings := s.has(name)
			return object{
				"credentials": object{verb(credentials): []object{valueDoc(name, value)}},
				"bindings":    object{verb(bindings): []object{bindingDoc(name, binding)}},
			}, nil
		})
	case got.status > 299:
		return got.refusal(value)
	}
	got.settle(ctx)
	return nil
}

// Patch implements credential.Broker.
func (b *Broker) Patch(ctx context.Context, to credential.Sandbox, name string, patch credential.Change) error {
	value := ""
	if patch.Value != nil {
		value = patch.Value.Reveal()
	}
	return failed("changing credential", to, name, change(ctx, to, value, func(s *state) (object, error) {
		credentials, bindings := s.has(name)
		if !credentials {
			return nil, credential.ErrNotFound
		}
		doc := object{}
		if patch.Value != nil {
			doc["credentials"] = object{"replace": []object{valueDoc(name, value)}}
		}
		if patch.Binding != nil {
			doc["bindings"] = object{verb(bindings): []object{bindingDoc(name, *patch.Binding)}}
		}
		return doc, nil
	}))
}

// Remove implements credential.Broker.
func (b *Broker) Remove(ctx context.Context, to credential.Sandbox, name string) error {
	err := change(ctx, to, "", func(s *state) (object, error) {
		credentials, bindings := s.has(name)
		if !credentials && !bindings {
			return nil, credential.ErrNotFound
		}
		doc := object{}
		if credentials {
			doc["credentials"] = object{"delete": []string{name}}
		}
		if bindings {
			doc["bindings"] = object{"delete": []string{name}}
		}
		return doc, nil
	})
	if errors.Is(err, credential.ErrNotFound) {
		return nil
	}
	return failed("removing credential", to, name, err)
}

// ListBindings implements credential.Broker.
func (b *Broker) ListBindings(ctx context.Context, of credential.Sandbox) ([]credential.Bound, error) {
	s, err := read(ctx, of)
	if err != nil || s == nil {
		return nil, failed("listing credentials", of, "", err)
	}
	list := make([]credential.Bound, len(s.Bindings))
	for i := range s.Bindings {
		list[i] = credential.Bound{Name: s.Bindings[i].Name, Binding: s.Bindings[i].binding()}
	}
	slices.SortFunc(list, func(a, b credential.Bound) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// change forms a mutation of the state until it is made.
func change(ctx context.Context, to credential.Sandbox, value string, form func(*state) (object, error)) error {
	for range attempts {
		s, err := read(ctx, to)
		if err != nil {
			return err
		}
		if s == nil {
			return credential.ErrNotFound
		}
		doc, err := form(s)
		if err != nil {
			return err
		}
		doc["expectedRevision"] = *s.Revision
		got, err := ask(ctx, to, http.MethodPatch, doc)
		switch {
		case err != nil:
			return err
		case got.status == http.StatusConflict:
			continue
		case got.status > 299:
			return got.refusal(value)
		}
		got.settle(ctx)
		return nil
	}
	return credential.ErrConflict
}

// read returns what there is; nil: no vault.
func read(ctx context.Context, of credential.Sandbox) (*state, error) {
	got, err := ask(ctx, of, http.MethodGet, nil)
	if err != nil || got.status == http.StatusNotFound {
		return nil, err
	}
	var s state
	if err := json.Unmarshal(got.body, &s); err != nil || got.status != http.StatusOK || s.Revision == nil {
		return nil, fmt.Errorf("the sidecar answers with status %d and no vault: %w", got.status, credential.ErrUnavailable)
	}
	return &s, nil
}

// answer is a sidecar's.
type answer struct {
	status int
	body   []byte
	live   bool // what it acknowledges is in force
}

// ask sends a document to the vault, again while the sidecar is starting.
func ask(ctx context.Context, to credential.Sandbox, method string, doc any) (answer, error) {
	var body []byte
	var err error
	if doc != nil {
		if body, err = json.Marshal(doc); err != nil {
			return answer{}, fmt.Errorf("writing the request: %w", err)
		}
	}
	var got answer
	for _, wait := range []time.Duration{0, 100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond} {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return answer{}, fmt.Errorf("%w: %w", credential.ErrUnknownOutcome, context.Cause(ctx))
		}
		if got, err = once(ctx, to, method, body); err != nil {
			return answer{}, err
		}
		if got.status < 500 && got.status != http.StatusPreconditionFailed {
			break
		}
	}
	return got, nil
}

func once(ctx context.Context, to credential.Sandbox, method string, body []byte) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, "/credential-vault", bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	unknown := credential.ErrUnknownOutcome
	if method == http.MethodGet {
		unknown = credential.ErrUnavailable
	}
	resp, err := to.Egress.Do(req)
	if err != nil {
		return answer{}, fmt.Errorf("%w: %w", unknown, err)
	}
	reply, err := io.ReadAll(io.LimitReader(resp.Body, maxReply))
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return answer{}, fmt.Errorf("%w: reading the answer: %w", unknown, err)
	}
	return answer{resp.StatusCode, reply, resp.Header.Get("X-Credential-Vault-Live") == "true"}, nil
}

// refusal is an error of what a sidecar says, without the value.
func (a answer) refusal(value string) error {
	text := strings.TrimSpace(string(a.body))
	for _, form := range formsOf(value) {
		text = strings.ReplaceAll(text, form, credential.Redacted)
	}
	kind := credential.ErrUnavailable
	switch a.status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge:
		kind = credential.ErrInvalid
	case http.StatusNotFound, http.StatusPreconditionFailed:
		kind = credential.ErrNoProxy
	case http.StatusConflict:
		kind = credential.ErrConflict
	case http.StatusUnauthorized, http.StatusForbidden:
		kind = credential.ErrDenied
	case http.StatusUpgradeRequired:
		kind = fmt.Errorf("%w (use_server_proxy)", credential.ErrDenied)
	}
	return fmt.Errorf("%w: status %d: %s", kind, a.status, text)
}

func formsOf(value string) []string {
	if value == "" {
		return nil
	}
	escaped, err := json.Marshal(value)
	if err != nil {
		return []string{value}
	}
	return []string{value, strings.Trim(string(escaped), `"`)}
}

// settle waits until the change is in force.
func (a answer) settle(ctx context.Context) {
	if a.live {
		return
	}
	select {
	case <-time.After(settleTime):
	case <-ctx.Done():
	}
}
