package brokertest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/alineo-labs/alineo-host/host/credential"
)

// native is a broker in Go, which an embedder could write. Its faults are those that no guest can have.
type native struct {
	values map[string]string
	fault  string
}

func (n *native) Features() credential.Features {
	return credential.Features{Resolve: n.values != nil && n.fault != "resolve/undeclared"}
}

type object = map[string]any

// ask sends a document to the vault, again while the sidecar is starting.
func (n *native) ask(ctx context.Context, sandbox credential.Sandbox, method string, doc any) (status int, answer []byte, live bool, err error) {
	var body []byte
	if doc != nil {
		if body, err = json.Marshal(doc); err != nil {
			return 0, nil, false, err
		}
	}
	if n.fault == "fault/canceled" {
		ctx = context.WithoutCancel(ctx)
	}
	for _, wait := range []time.Duration{0, 100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond} {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return 0, nil, false, fmt.Errorf("%w: %w", credential.ErrUnknownOutcome, ctx.Err())
		}
		req, err := http.NewRequestWithContext(ctx, method, "/credential-vault", bytes.NewReader(body))
		if err != nil {
			return 0, nil, false, err
		}
		resp, err := sandbox.Egress.Do(req)
		if err != nil {
			return 0, nil, false, fmt.Errorf("%w: %w", credential.ErrUnknownOutcome, err)
		}
		answer, err = io.ReadAll(io.LimitReader(resp.Body, 1<<20))
		if err := errors.Join(err, resp.Body.Close()); err != nil {
			return 0, nil, false, err
		}
		status, live = resp.StatusCode, resp.Header.Get("X-Credential-Vault-Live") == "true"
		if status < 500 && status != http.StatusPreconditionFailed {
			break
		}
	}
	return status, answer, live, nil
}

// state is what there is; nil: no vault.
type state struct {
	Revision    *int64
	Credentials []credentialState
	Bindings    []bindingState
}

type credentialState struct{ Name string }

type bindingState struct {
	Name  string
	Match struct {
		Schemes, Hosts, Methods, Paths []string
		Ports                          []int
	}
	Auth struct{ Type, Name string }
}

func (n *native) state(ctx context.Context, sandbox credential.Sandbox) (*state, error) {
	status, answer, _, err := n.ask(ctx, sandbox, http.MethodGet, nil)
	if err != nil || status == http.StatusNotFound {
		return nil, err
	}
	var s state
	if err := json.Unmarshal(answer, &s); err != nil || status != http.StatusOK || s.Revision == nil {
		return nil, fmt.Errorf("the sidecar answers with status %d and no vault: %w", status, credential.ErrUnavailable)
	}
	return &s, nil
}

func (n *native) failed(status int, answer []byte, value string) error {
	text := string(answer)
	if n.fault != "fault/silent" {
		for _, form := range formsOf(value) {
			text = strings.ReplaceAll(text, form, credential.Redacted)
		}
	}
	kind := credential.ErrUnavailable
	switch status {
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
	return fmt.Errorf("%w: status %d: %s", kind, status, text)
}

func formsOf(value string) []string {
	if value == "" {
		return nil
	}
	escaped, _ := json.Marshal(value) //nolint:errchkjson // a string
	return []string{value, strings.Trim(string(escaped), `"`)}
}

func (n *native) settle(ctx context.Context, live bool) {
	if live {
		return
	}
	select {
	case <-time.After(600 * time.Millisecond):
	case <-ctx.Done():
	}
}

// change forms a mutation of the state until it is made.
func (n *native) change(ctx context.Context, sandbox credential.Sandbox, value string, form func(*state) (object, error)) error {
	for range 8 {
		s, err := n.state(ctx, sandbox)
		if err != nil {
			return err
		}
		if s == nil {
			return credential.ErrNotFound
		}
		doc, err := form(s)
		if err != nil || doc == nil {
			return err
		}
		doc["expectedRevision"] = *s.Revision
		status, answer, live, err := n.ask(ctx, sandbox, http.MethodPatch, doc)
		switch {
		case err != nil:
			return err
		case status == http.StatusConflict:
			continue
		case status > 299:
			return n.failed(status, answer, value)
		}
		n.settle(ctx, live)
		return nil
	}
	return credential.ErrConflict
}

func (s *state) has(name string) (credential, binding bool) {
	return slices.ContainsFunc(s.Credentials, func(c credentialState) bool { return c.Name == name }),
		slices.ContainsFunc(s.Bindings, func(b bindingState) bool { return b.Name == name })
}

func verb(there bool) string {
	if there {
		return "replace"
	}
	return "add"
}

func valueDoc(name, value string) object {
	return object{"name": name, "source": object{"type": "inline", "value": value}}
}

func bindingDoc(name string, b credential.Binding) object {
	match, auth := object{"hosts": b.Hosts}, object{"type": b.Injection.Type, "credential": name}
	for key, list := range map[string][]string{"schemes": b.Schemes, "methods": b.Methods, "paths": b.Paths} {
		if len(list) > 0 {
			match[key] = list
		}
	}
	if len(b.Ports) > 0 {
		match["ports"] = b.Ports
	}
	switch b.Injection.Type {
	case credential.TypeHeader:
		auth["type"], auth["name"] = "apiKey", b.Injection.Header
	case credential.TypeSubstitution:
		auth = object{"type": "passthrough", "substitutions": []object{{"credential": name, "placeholder": b.Injection.Placeholder, "in": b.Injection.In}}}
	case credential.TypeCustomHeaders:
		var headers []object
		for _, h := range b.Injection.Headers {
			if h.Credential == "" {
				h.Credential = name
			}
			headers = append(headers, object{"name": h.Name, "credential": h.Credential})
		}
		auth = object{"type": "customHeaders", "headers": headers}
	}
	return object{"name": name, "match": match, "auth": auth}
}

func (n *native) Set(ctx context.Context, sandbox credential.Sandbox, name string, value credential.Secret, binding credential.Binding) error {
	status, answer, live, err := n.ask(ctx, sandbox, http.MethodPost, object{
		"credentials": []object{valueDoc(name, value.Reveal())}, "bindings": []object{bindingDoc(name, binding)},
	})
	switch {
	case err != nil:
		return err
	case status == http.StatusConflict:
		return n.change(ctx, sandbox, value.Reveal(), func(s *state) (object, error) {
			credentials, bindings := s.has(name)
			return object{
				"credentials": object{verb(credentials): []object{valueDoc(name, value.Reveal())}},
				"bindings":    object{verb(bindings): []object{bindingDoc(name, binding)}},
			}, nil
		})
	case status > 299:
		return n.failed(status, answer, value.Reveal())
	}
	n.settle(ctx, live)
	return nil
}

func (n *native) Patch(ctx context.Context, sandbox credential.Sandbox, name string, change credential.Change) error {
	value := ""
	if change.Value != nil {
		value = change.Value.Reveal()
	}
	return n.change(ctx, sandbox, value, func(s *state) (object, error) {
		credentials, bindings := s.has(name)
		if !credentials {
			return nil, credential.ErrNotFound
		}
		doc := object{}
		if change.Value != nil {
			doc["credentials"] = object{"replace": []object{valueDoc(name, value)}}
		}
		if change.Binding != nil {
			doc["bindings"] = object{verb(bindings): []object{bindingDoc(name, *change.Binding)}}
		}
		return doc, nil
	})
}

func (n *native) Remove(ctx context.Context, sandbox credential.Sandbox, name string) error {
	err := n.change(ctx, sandbox, "", func(s *state) (object, error) {
		credentials, bindings := s.has(name)
		if !credentials && !bindings {
			return nil, nil
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
	return err
}

func (n *native) ListBindings(ctx context.Context, sandbox credential.Sandbox) ([]credential.Bound, error) {
	s, err := n.state(ctx, sandbox)
	if err != nil || s == nil {
		return nil, err
	}
	unless := func(list []string, byDefault ...string) []string {
		if slices.Equal(list, byDefault) {
			return nil
		}
		return list
	}
	var list []credential.Bound
	for _, b := range s.Bindings {
		bound := credential.Binding{
			Hosts: b.Match.Hosts, Paths: unless(b.Match.Paths, "/*"), Schemes: unless(b.Match.Schemes, "https"),
			Methods: unless(b.Match.Methods, "GET", "POST", "PUT", "PATCH", "DELETE"), Injection: credential.Injection{Type: b.Auth.Type},
		}
		if !slices.Equal(b.Match.Ports, []int{443}) {
			bound.Ports = b.Match.Ports
		}
		switch b.Auth.Type {
		case "apiKey":
			bound.Injection = credential.Injection{Type: credential.TypeHeader, Header: b.Auth.Name}
		case "passthrough":
			bound.Injection.Type = credential.TypeSubstitution
		}
		list = append(list, credential.Bound{Name: b.Name, Binding: bound})
	}
	slices.SortFunc(list, func(a, b credential.Bound) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

func (n *native) Resolve(_ context.Context, name string, source credential.Source) (credential.Resolved, error) {
	value, ok := n.values[source.Ref]
	switch {
	case n.fault == "resolve/undeclared":
		return credential.Resolved{Value: credential.NewSecret("surprise")}, nil
	case n.values == nil:
		return credential.Resolved{}, credential.ErrUnsupported
	case !ok:
		return credential.Resolved{}, fmt.Errorf("credential %q: %w", name, credential.ErrNotFound)
	}
	return credential.Resolved{Value: credential.NewSecret(value)}, nil
}
