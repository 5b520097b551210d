package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
)

const opFork = "forking"

// ForkOptions says how the new sandbox differs from the one that is forked.
type ForkOptions struct {
	Tag        string // of the checkpoint that is made
	RunID      string // default the parent's; so too the next two
	ResourceID string
	TeamID     string
	Env        map[string]string
	Lifetime   time.Duration        // as in CreateOptions
	Volumes    []opensandbox.Volume // the parent's are not inherited

	// NetworkPolicy is the new sandbox's. Nil: what the parent's has come to, with the rules that were
	// added and removed while it ran; so that what is locked down has no open children. To open one, give
	// it a policy that allows everything. A sandbox without a policy has children without.
	NetworkPolicy *opensandbox.NetworkPolicy
	// CredentialProxy asks for the sidecar that puts credentials into requests; where there is no policy,
	// with one that allows everything. A child of a sandbox that has credentials has it, and them, too.
	CredentialProxy bool
	// ResolveCredential is as in ResumeOptions.
	ResolveCredential credential.Resolver
}

// Fork makes a checkpoint of the sandbox and a new sandbox of that, which has its files and none of
// its processes. Both go on by themselves: the new one's execs are numbered from 1, its shell and
// resources are the parent's, and it has no hooks but the client's. Its name is fork-, the parent's name and the
// beginning of its id.
//
// It needs a place of its own under MaxConcurrency, and waits for one before anything is done; where
// there can't be one, because the limit is 1, it is ErrLimit. When it fails after the checkpoint was
// recorded, that stays and no sandbox is left behind.
func (h *Handle) Fork(ctx context.Context, opts ForkOptions) (*Handle, error) {
	if h.c.opts.MaxConcurrency == 1 {
		return nil, h.fail(opFork, fmt.Errorf("%w: MaxConcurrency is 1, and the forked sandbox is open itself", ErrLimit))
	}
	credentials, err := h.mayFork(ctx, &opts)
	if err != nil {
		return nil, h.fail(opFork, err)
	}
	release, err := h.c.acquire(ctx)
	if err != nil {
		return nil, h.fail(opFork, err)
	}
	snapshot, err := h.Checkpoint(ctx, opts.Tag)
	if err != nil {
		release()
		return nil, err
	}
	return h.c.launch(ctx, h.child(snapshot, release, &opts, credentials))
}

// ForkAll makes n forks of one checkpoint. When one fails, the others are closed.
func (h *Handle) ForkAll(ctx context.Context, n int, opts ForkOptions) ([]*Handle, error) {
	if n < 1 {
		return nil, h.fail(opFork, fmt.Errorf("%w: %d forks", ErrInvalid, n))
	}
	if limit := h.c.opts.MaxConcurrency; limit > 0 && n >= limit {
		return nil, h.fail(opFork, fmt.Errorf("%w: %d forks and their parent, and MaxConcurrency is %d", ErrLimit, n, limit))
	}
	credentials, err := h.mayFork(ctx, &opts)
	if err != nil {
		return nil, h.fail(opFork, err)
	}
	snapshot, err := h.Checkpoint(ctx, opts.Tag)
	if err != nil {
		return nil, err
	}
	forks, problems := make([]*Handle, n), make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { forks[i], problems[i] = h.c.launch(ctx, h.child(snapshot, nil, &opts, credentials)) })
	}
	all.Wait()
	err = errors.Join(problems...)
	if err == nil {
		return forks, nil
	}
	for _, fork := range forks {
		if fork != nil {
			err = errors.Join(err, fork.Close(ctx))
		}
	}
	return nil, err
}

// mayFork checks what can be known before anything happens, gives the child what it inherits, and
// returns the credentials that it will have.
func (h *Handle) mayFork(ctx context.Context, opts *ForkOptions) ([]readyCredential, error) {
	if h.resources.CPU == "" || h.resources.Memory == "" {
		return nil, fmt.Errorf("%w: its cpu and memory are not known", ErrNoFork)
	}
	policy, err := checkPolicy(opts.NetworkPolicy)
	if err != nil {
		return nil, err
	}
	opts.NetworkPolicy = policy
	if _, err := h.c.lifetime(opts.Lifetime); err != nil {
		return nil, err
	}
	if err := h.drives(); err != nil {
		return nil, err
	}
	found := &controls{}
	if h.policed {
		var err error
		if found, err = h.c.readControls(ctx, h.Key()); err != nil {
			return nil, err
		}
	}
	if opts.NetworkPolicy == nil {
		opts.NetworkPolicy = found.policy()
	}
	opts.CredentialProxy = opts.CredentialProxy || len(found.credentials) > 0
	if opts.CredentialProxy && opts.NetworkPolicy == nil {
		opts.NetworkPolicy = &opensandbox.NetworkPolicy{DefaultAction: opensandbox.ActionAllow}
	}
	return h.c.resolveAll(ctx, h.id, found.credentials, opts.ResolveCredential)
}

func (h *Handle) child(snapshot string, slot func(), opts *ForkOptions, credentials []readyCredential) launch {
	who := identity{opts.RunID, opts.ResourceID, opts.TeamID}.or(h.identity)
	who.RunID = cmp.Or(who.RunID, uuid.NewString())
	lifetime, _ := h.c.lifetime(opts.Lifetime) // mayFork has checked it
	return launch{
		op: opFork, from: h.id, prefix: "fork-" + h.name + "-", shell: h.shell, resources: h.resources, identity: who, slot: slot, credentials: credentials,
		request: opensandbox.CreateRequest{
			SnapshotID: snapshot, Timeout: lifetime, ResourceLimits: h.resources.limits(), Env: opts.Env, Metadata: map[string]string{},
			Volumes: opts.Volumes, NetworkPolicy: opts.NetworkPolicy, CredentialProxy: credentialProxy(opts.CredentialProxy),
		},
		created: func(id string) any {
			return derivedPayload{
				SandboxID: id, ForkedFrom: snapshot, identity: who, ParentSandboxID: h.id,
				NetworkPolicy: opts.NetworkPolicy, CredentialProxy: &opts.CredentialProxy, Resources: h.resources,
			}
		},
	}
}
