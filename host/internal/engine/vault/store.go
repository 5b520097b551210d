package vault

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Errors that have statuses of their own.
var (
	ErrNotFound = errors.New("credential vault not found")
	ErrExists   = errors.New("credential vault already exists")
)

// RevisionError tells that somebody else has changed the vault.
type RevisionError struct{ Expected, Current int64 }

func (e *RevisionError) Error() string {
	return fmt.Sprintf("expectedRevision %d does not match current revision %d", e.Expected, e.Current)
}

// Covers tells whether a policy allows a host, a name or "*." and a domain, by a rule of its own.
type Covers = func(host string) bool

// maxRetired is how many values that were replaced or deleted are still kept from coming back.
const maxRetired = 64

// Store is the vault of one sandbox. It is safe for concurrent use.
type Store struct {
	mu      sync.Mutex
	content content
	retired []Value
	rules   atomic.Pointer[Rules]
}

// content is one revision. Maps are not changed once they are in the store.
type content struct {
	revision    int64 // 0: there is no vault
	credentials map[string]held[Credential]
	bindings    map[string]held[Binding]
}

// held is something with the revision in which it came.
type held[T any] struct {
	revision int64
	value    T
}

// NewStore makes a store without a vault.
func NewStore() *Store {
	s := &Store{}
	s.rules.Store(&Rules{})
	return s
}

// Rules are those in force.
func (s *Store) Rules() *Rules { return s.rules.Load() }

// Create makes the vault.
func (s *Store) Create(q CreateRequest, covers Covers) (State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.content.revision != 0 {
		return State{}, ErrExists
	}
	next := content{revision: 1, credentials: map[string]held[Credential]{}, bindings: map[string]held[Binding]{}}
	if err := add(next.credentials, q.Credentials, Credential.named, 1, nil, "credential"); err != nil {
		return State{}, err
	}
	if err := add(next.bindings, q.Bindings, Binding.named, 1, nil, "binding"); err != nil {
		return State{}, err
	}
	return s.replace(next, covers)
}

// Patch changes the vault.
func (s *Store) Patch(q Mutation, covers Covers) (State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.content.revision == 0 {
		return State{}, ErrNotFound
	}
	if q.ExpectedRevision != nil && *q.ExpectedRevision != s.content.revision {
		return State{}, &RevisionError{Expected: *q.ExpectedRevision, Current: s.content.revision}
	}
	next := content{s.content.revision + 1, maps.Clone(s.content.credentials), maps.Clone(s.content.bindings)}
	if err := change(next.credentials, q.Credentials, Credential.named, next.revision, "credential"); err != nil {
		return State{}, err
	}
	if err := change(next.bindings, q.Bindings, Binding.named, next.revision, "binding"); err != nil {
		return State{}, err
	}
	for name, b := range next.bindings {
		auth := b.value.Auth
		if slices.ContainsFunc(auth.credentials(), func(c string) bool { return next.credentials[c].revision == next.revision }) {
			b.revision = next.revision
			next.bindings[name] = b
		}
	}
	return s.replace(next, covers)
}

// Delete deletes the vault.
func (s *Store) Delete() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.content.revision == 0 {
		return ErrNotFound
	}
	s.retire(nil)
	s.content = content{}
	s.rules.Store(&Rules{Secrets: secrets(nil, s.retired)})
	return nil
}

// State is what may be seen.
func (s *Store) State() (State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.content.revision == 0 {
		return State{}, ErrNotFound
	}
	return s.content.state(), nil
}

// CheckPolicy tells whether a policy leaves every binding its hosts.
func (s *Store) CheckPolicy(covers Covers) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.content.check(covers)
}

// replace puts a revision in force. The caller holds mu.
func (s *Store) replace(next content, covers Covers) (State, error) {
	if err := next.check(covers); err != nil {
		return State{}, err
	}
	s.retire(next.credentials)
	s.content = next
	values := next.values()
	rules := &Rules{Revision: next.revision, Secrets: secrets(values, s.retired)}
	for _, name := range slices.Sorted(maps.Keys(next.bindings)) {
		rules.bindings = append(rules.bindings, next.bindings[name].value.injection(values))
	}
	s.rules.Store(rules)
	return next.state(), nil
}

// retire remembers the values that go. The caller holds mu.
func (s *Store) retire(next map[string]held[Credential]) {
	for name, c := range s.content.credentials {
		if v := c.value.Source.Value; next[name].value.Source.Value != v && !slices.Contains(s.retired, v) {
			s.retired = append(s.retired, v)
		}
	}
	s.retired = s.retired[max(0, len(s.retired)-maxRetired):]
}

func secrets(values map[string]Value, retired []Value) []Value {
	var all []Value
	for _, v := range slices.Concat(slices.Sorted(maps.Values(values)), retired) {
		all = append(all, v)
		all = append(all, inside(v)...)
	}
	return unique(all)
}

func (c Credential) named() (string, Credential, error) {
	c, err := c.normal()
	return c.Name, c, err
}

func (b Binding) named() (string, Binding, error) {
	b, err := b.normal()
	return b.Name, b, err
}

// change applies changes to a map, each name in one of them only.
func change[T any](to map[string]held[T], c *changes[T], named func(T) (string, T, error), revision int64, kind string) error {
	if c == nil {
		return nil
	}
	mentioned := map[string]bool{}
	for _, name := range c.Delete {
		if name = strings.TrimSpace(name); mentioned[name] {
			return fmt.Errorf("%s %q mentioned by multiple operations", kind, name)
		}
		if _, ok := to[name]; !ok {
			return fmt.Errorf("%s %q does not exist", kind, name)
		}
		mentioned[name] = true
		delete(to, name)
	}
	for _, raw := range c.Replace {
		name, v, err := named(raw)
		if err != nil {
			return err
		}
		if mentioned[name] {
			return fmt.Errorf("%s %q mentioned by multiple operations", kind, name)
		}
		if _, ok := to[name]; !ok {
			return fmt.Errorf("%s %q does not exist", kind, name)
		}
		mentioned[name] = true
		to[name] = held[T]{revision, v}
	}
	return add(to, c.Add, named, revision, mentioned, kind)
}

func add[T any](to map[string]held[T], all []T, named func(T) (string, T, error), revision int64, mentioned map[string]bool, kind string) error {
	seen := map[string]bool{}
	for _, raw := range all {
		name, v, err := named(raw)
		if err != nil {
			return err
		}
		_, exists := to[name]
		switch {
		case mentioned[name]:
			return fmt.Errorf("%s %q mentioned by multiple operations", kind, name)
		case seen[name]:
			return fmt.Errorf("duplicate %s name %q", kind, name)
		case exists:
			return fmt.Errorf("%s %q already exists", kind, name)
		}
		seen[name] = true
		to[name] = held[T]{revision, v}
	}
	return nil
}

// check looks at a revision as a whole.
func (c content) check(covers Covers) error {
	names := slices.Sorted(maps.Keys(c.bindings))
	for i, name := range names {
		b := c.bindings[name].value
		for _, ref := range b.Auth.credentials() {
			if _, ok := c.credentials[ref]; !ok {
				return fmt.Errorf("binding %q references unknown credential %q", name, ref)
			}
		}
		for _, h := range b.injection(c.values()).Headers {
			if strings.ContainsFunc(string(h.Value), func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
				return fmt.Errorf("binding %q: the credential for header %q has control characters (a line end?), which no header can hold", name, h.Name)
			}
		}
		for _, host := range b.Match.Hosts {
			if !covers(host) {
				return fmt.Errorf("binding %q host %q is not covered by an explicit allow egress rule", name, host)
			}
		}
		for _, other := range names[:i] {
			o := c.bindings[other].value
			if b.Match.overlap(&o.Match) {
				return fmt.Errorf("bindings %q and %q can match the same request", other, name)
			}
		}
	}
	return nil
}

func (c content) values() map[string]Value {
	values := make(map[string]Value, len(c.credentials))
	for name, held := range c.credentials {
		values[name] = held.value.Source.Value
	}
	return values
}

func (c content) state() State {
	st := State{Revision: c.revision, Credentials: []CredentialState{}, Bindings: []BindingState{}}
	for _, name := range slices.Sorted(maps.Keys(c.credentials)) {
		h := c.credentials[name]
		st.Credentials = append(st.Credentials, CredentialState{Name: name, SourceType: h.value.Source.Type, Revision: h.revision})
	}
	for _, name := range slices.Sorted(maps.Keys(c.bindings)) {
		h := c.bindings[name]
		auth := AuthState{Type: h.value.Auth.Type}
		if auth.Type == authAPIKey {
			auth.Name = h.value.Auth.Name
		}
		st.Bindings = append(st.Bindings, BindingState{Name: name, Revision: h.revision, Match: h.value.Match, Auth: auth})
	}
	return st
}
