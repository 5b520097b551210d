package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/ledger"
)

// boundList is which credentials a ledger says are bound, in the order in which they first were.
type boundList []boundEntry

// boundEntry is one of them. err says why its binding can't be read.
type boundEntry struct {
	credential.Bound
	err error
}

func (l *boundList) index(name string) int {
	return slices.IndexFunc(*l, func(b boundEntry) bool { return b.Name == name })
}

func (l *boundList) find(name string) (credential.Bound, bool) {
	if i := l.index(name); i >= 0 {
		return (*l)[i].Bound, true
	}
	return credential.Bound{}, false
}

func (l *boundList) put(entry boundEntry) {
	if i := l.index(entry.Name); i >= 0 {
		(*l)[i] = entry
		return
	}
	*l = append(*l, entry)
}

func (l *boundList) bind(b credential.Bound) { l.put(boundEntry{Bound: b}) }

func (l *boundList) revoke(name string) {
	if i := l.index(name); i >= 0 {
		*l = slices.Delete(*l, i, i+1)
	}
}

// bindings is what a handle knows about its sandbox's credentials.
type bindings struct {
	turn   chan struct{} // held while they are used
	loaded bool          // what follows is what the ledger says
	proxy  bool          // the sandbox was created with the credential proxy
	list   boundList
	silent bool // hooks are not called: the credentials are those of another sandbox

	mu     sync.Mutex
	forget []func() // of the values that were learned
	leases map[string]*lease
	ended  bool
}

func newBindings(proxy, loaded bool) *bindings {
	return &bindings{turn: make(chan struct{}, 1), proxy: proxy, loaded: loaded}
}

// learn makes a value known to the redactor as long as the handle is open: also one that was replaced
// may still come out of the sandbox.
func (b *bindings) learn(r *credential.Redactor, value credential.Secret, binding credential.Binding) {
	add := r.AddBasic
	if binding.Injection.Type != credential.TypeBasic {
		add = func(s credential.Secret) func() { return r.Add(s) }
	}
	forget := add(value)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.forget = append(b.forget, forget)
}

// end forgets the values.
func (b *bindings) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, forget := range b.forget {
		forget()
	}
	b.forget, b.ended = nil, true
	for _, l := range b.leases {
		l.timer.Stop()
	}
}

// release forgets the end of a credential's value, which is not there any more.
func (b *bindings) release(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if l := b.leases[name]; l != nil {
		l.timer.Stop()
		delete(b.leases, name)
	}
}

func (b *bindings) hooks(h *Handle) *Hooks {
	if b.silent {
		return nil
	}
	return h.hooks
}

// bindings waits for the turn to use the sandbox's credentials, until done is called.
func (h *Handle) bindings(ctx context.Context) (state *bindings, done func(), err error) {
	if h.c.broker() == nil {
		return nil, nil, fmt.Errorf("%w: the client has no credential broker", credential.ErrUnsupported)
	}
	b := h.bound
	select {
	case b.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
	done = func() { <-b.turn }
	if !b.loaded {
		found, err := h.c.readControls(ctx, h.Key())
		if err != nil {
			done()
			return nil, nil, err
		}
		b.proxy, b.list = found.created.credentialProxy, found.credentials
		b.loaded = h.stream != nil // else somebody else changes them
	}
	if !b.proxy {
		done()
		return nil, nil, credential.ErrNoProxy
	}
	return b, done, nil
}

// learnBound reads what is bound in a sandbox that somebody else has made, and learns the values that are
// at hand: those of variables. Others are not known here before they are bound here.
func (h *Handle) learnBound(ctx context.Context) error {
	if h.stream == nil {
		return nil
	}
	select { // somebody may have found the handle already
	case h.bound.turn <- struct{}{}:
		defer func() { <-h.bound.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	lineage, _, err := ledger.Lineage(ctx, h.c.store, h.Key())
	if err != nil {
		return err
	}
	created, err := readCreated(lineage[len(lineage)-1].Created)
	if err != nil || !created.credentialProxy {
		h.bound.loaded = err == nil
		return nil //nolint:nilerr // whoever needs it will be told
	}
	found, err := h.c.readControls(ctx, h.Key())
	if err != nil {
		return nil //nolint:nilerr // whoever needs it will be told
	}
	h.bound.proxy, h.bound.list, h.bound.loaded = true, found.credentials, true
	h.bound.learnVariables(h.c, found.credentials)
	return nil
}

// learnVariables learns the values that are at hand.
func (b *bindings) learnVariables(c *Client, list boundList) {
	for _, bound := range list {
		if bound.Source == nil || bound.Source.Type != credential.SourceEnv {
			continue
		}
		if value, ok := c.opts.LookupEnv(bound.Source.VarName); ok {
			b.learn(c.redactor(), credential.NewSecret(value), bound.Binding)
		}
	}
}

// clearTimeout bounds what Close does for the credentials.
const clearTimeout = 10 * time.Second

// clearCredentials takes the sandbox's credentials from the broker. The ledger keeps them, so that they
// are bound again when the sandbox is resumed.
func (h *Handle) clearCredentials(ctx context.Context) error {
	broker, b := h.c.broker(), h.bound
	if broker == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, clearTimeout)
	defer cancel()
	select {
	case b.turn <- struct{}{}:
		defer func() { <-b.turn }()
	case <-ctx.Done():
		return fmt.Errorf("clearing credentials: %w", context.Cause(ctx))
	}
	if b.loaded && !b.proxy {
		return nil
	}
	names := make([]string, 0, len(b.list))
	for _, bound := range b.list {
		names = append(names, bound.Name)
	}
	if !b.loaded {
		live, err := broker.ListBindings(ctx, h.brokerSandbox())
		if errors.Is(err, credential.ErrNoProxy) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("clearing credentials: %w", err)
		}
		for _, bound := range live {
			names = append(names, bound.Name)
		}
	}
	var problems []error
	for _, name := range names {
		if err := broker.Remove(ctx, h.brokerSandbox(), name); err != nil {
			problems = append(problems, fmt.Errorf("clearing credential %q: %w", name, err))
		}
	}
	return errors.Join(problems...)
}

func (h *Handle) brokerSandbox() credential.Sandbox {
	return credential.Sandbox{ID: h.id, Egress: h.c.wire.Egress(h.id)}
}

func (c *Client) broker() credential.Broker { return c.opts.Broker }

func (c *Client) redactor() *credential.Redactor { return c.opts.Ledger.Redactor() }

// resolution is how values are had again; ask may be nil.
func (c *Client) resolution(ask credential.Resolver) credential.Resolution {
	if ask == nil {
		ask = c.opts.ResolveCredential
	}
	return credential.Resolution{LookupEnv: c.opts.LookupEnv, Broker: c.opts.Broker, Resolver: ask}
}

// ready is a credential that a new sandbox gets.
type readyCredential struct {
	credential.Bound
	credential.Resolved
}

// resolveAll gets the values of what is bound in a sandbox, for another one that is made of it. It is
// done before that is made: nobody gets half of them.
func (c *Client) resolveAll(ctx context.Context, sandboxID string, list boundList, ask credential.Resolver) ([]readyCredential, error) {
	if len(list) == 0 {
		return nil, nil
	}
	if c.broker() == nil {
		return nil, fmt.Errorf("%w: the sandbox has credentials (%d), and the client has no credential broker to bind them again",
			credential.ErrUnsupported, len(list))
	}
	from := c.resolution(ask)
	all := make([]readyCredential, 0, len(list))
	var problems []error
	for _, bound := range list {
		if bound.err != nil {
			problems = append(problems, fmt.Errorf("credential %q of sandbox %s can't be bound again: %w", bound.Name, sandboxID, bound.err))
			continue
		}
		resolved, err := from.Resolve(ctx, sandboxID, bound.Name, bound.Source)
		if err == nil {
			if err = credential.ValidateValue(resolved.Value, bound.Binding.Injection); err != nil {
				err = &credential.UnresolvedError{Name: bound.Name, SandboxID: sandboxID, Source: sourceOf(bound.Bound), Err: err}
			}
		}
		if err != nil {
			problems = append(problems, err)
			continue
		}
		all = append(all, readyCredential{bound.Bound, resolved})
	}
	return all, errors.Join(problems...)
}

func sourceOf(b credential.Bound) credential.Source {
	if b.Source == nil {
		return credential.Source{Type: credential.SourceExternal}
	}
	return *b.Source
}

// bindAll binds what a new sandbox is to have before anything runs in it.
func (h *Handle) bindAll(ctx context.Context, list []readyCredential) error {
	if len(list) == 0 {
		return nil
	}
	state, done, err := h.bindings(ctx)
	if err != nil {
		return err
	}
	defer done()
	state.silent = true // as the reference has it
	defer func() { state.silent = false }()
	for _, ready := range list {
		if err := h.check(ready.Bound, &ready.Value); err != nil {
			return fmt.Errorf("binding credential %q again: %w", ready.Name, err)
		}
		if err := h.bind(ctx, state, ready.Bound, ready.Value); err != nil {
			return fmt.Errorf("binding credential %q again: %w", ready.Name, err)
		}
		h.lease(state, ready.Name, ready.Resolved)
	}
	return nil
}

// lookupEnv is the environment that sources of type env are looked up in.
func lookupEnv(given func(string) (string, bool)) func(string) (string, bool) {
	if given != nil {
		return given
	}
	return os.LookupEnv
}
