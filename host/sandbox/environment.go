package sandbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

const opEnvironment = "making environment"

// EnvironmentOptions says how an environment is built.
type EnvironmentOptions struct {
	Image     string // default the client's
	ImageAuth *ImageAuth
	Resources Resources
	Env       map[string]string // while it is built
	Shell     string
	// Setup puts into the sandbox what is to be there from the start. Nil: nothing but the image.
	Setup func(ctx context.Context, sb *Handle) error
}

// SpawnOptions says what sandbox to make of an environment.
type SpawnOptions struct {
	Name       string // default env-, the environment's name and the beginning of the id
	Env        map[string]string
	Lifetime   time.Duration // as in CreateOptions
	Volumes    []opensandbox.Volume
	RunID      string // default a new one
	ResourceID string
	TeamID     string
	Shell      string // default the environment's
	Hooks      *Hooks
	// NoBuild is for who doesn't know how the environment is set up: one that was never built, or whose snapshot
	// the server has lost, is store.ErrNotFound.
	NoBuild bool

	NetworkPolicy   *opensandbox.NetworkPolicy // as in CreateOptions
	CredentialProxy bool
}

// Environment is a snapshot with a name, which is built once and of which sandboxes are then made. It
// is not built anew because its options have changed: see [Environment.Build].
type Environment struct {
	c    *Client
	name string
	opts EnvironmentOptions
}

// Environment returns an environment. It does no I/O.
func (c *Client) Environment(name string, opts EnvironmentOptions) *Environment {
	if opts.Image == "" {
		opts.Image = c.opts.Image
	}
	opts.Resources = opts.Resources.or(c.opts.Resources)
	return &Environment{c: c, name: name, opts: opts}
}

// Name returns its name.
func (e *Environment) Name() string { return e.name }

// Info returns what is recorded of its last build, store.ErrNotFound when it was never built.
func (e *Environment) Info(ctx context.Context) (store.Environment, error) {
	return e.c.store.GetEnvironment(ctx, e.name)
}

// Create makes a sandbox of the environment. It builds the environment first when that was never
// done, or when the server has lost the snapshot; callers of one client at the same time share one
// build, which goes on as long as one of them waits.
func (e *Environment) Create(ctx context.Context, opts SpawnOptions) (*Handle, error) {
	fail := func(err error) error { return e.c.fail(opEnvironment+" "+e.name, "", err) }
	if e.name == "" {
		return nil, fail(fmt.Errorf("%w: it has no name", ErrInvalid))
	}
	if err := e.c.mayRecord("its name or its image", []string{e.name, e.opts.Image}); err != nil {
		return nil, fail(err)
	}
	policy, err := checkNetwork(opts.NetworkPolicy, opts.CredentialProxy)
	if err != nil {
		return nil, fail(err)
	}
	opts.NetworkPolicy = policy
	lifetime, err := e.c.lifetime(opts.Lifetime)
	if err != nil {
		return nil, fail(err)
	}
	record, ok, err := e.usable(ctx)
	if err != nil {
		return nil, fail(err)
	}
	if !ok && opts.NoBuild {
		reason := "it was never built"
		if record.SnapshotID != "" {
			reason = "the server does not have its snapshot " + record.SnapshotID
		}
		return nil, fail(fmt.Errorf("%w: %s", store.ErrNotFound, reason))
	}
	if !ok {
		record, err = e.c.builds.share(ctx, e.name, func(ctx context.Context) (store.Environment, error) {
			done, err := e.c.begin()
			if err != nil {
				return store.Environment{}, err
			}
			defer done()
			// Somebody may have finished it since we looked.
			if record, ok, err := e.usable(ctx); ok || err != nil {
				return record, err
			}
			return e.Build(ctx)
		})
		if err != nil {
			return nil, fail(err)
		}
	}
	return e.spawn(ctx, record, lifetime, opts)
}

// usable returns the record of an environment whose snapshot is there.
func (e *Environment) usable(ctx context.Context) (store.Environment, bool, error) {
	record, err := e.Info(ctx)
	if errors.Is(err, store.ErrNotFound) {
		return record, false, nil
	}
	if err != nil {
		return record, false, err
	}
	snapshot, err := e.c.wire.GetSnapshot(ctx, record.SnapshotID)
	if errors.Is(err, opensandbox.ErrNotFound) {
		return record, false, nil
	}
	if err != nil {
		return record, false, err
	}
	return record, snapshot.Status.State == opensandbox.SnapshotReady, nil
}

// Build builds the environment anew, whether or not it was built before, and records it. Sandboxes
// that were made of it stay as they are. The old snapshot stays on the server.
func (e *Environment) Build(ctx context.Context) (store.Environment, error) {
	record, err := e.build(ctx)
	if err != nil {
		return store.Environment{}, fmt.Errorf("building environment %s: %w", e.name, err)
	}
	return record, nil
}

func (e *Environment) build(ctx context.Context) (record store.Environment, err error) {
	box, err := e.c.Create(ctx, CreateOptions{
		Name: "env-" + e.name + "-build", Image: e.opts.Image, ImageAuth: e.opts.ImageAuth,
		Resources: e.opts.Resources, Env: e.opts.Env, Shell: e.opts.Shell,
	})
	if err != nil {
		return store.Environment{}, err
	}
	defer func() { err = errors.Join(err, box.Close(ctx)) }()
	if e.opts.Setup != nil {
		if err := e.opts.Setup(ctx, box); err != nil {
			return store.Environment{}, fmt.Errorf("setting it up: %w", err)
		}
	}
	snapshot, err := box.Checkpoint(ctx, "env:"+e.name)
	if err != nil {
		return store.Environment{}, err
	}
	record = store.Environment{Name: e.name, SnapshotID: snapshot, Image: e.opts.Image, BuiltAt: time.Now().UnixMilli()}
	return record, e.c.store.SaveEnvironment(ctx, record)
}

func (e *Environment) spawn(ctx context.Context, record store.Environment, lifetime int, opts SpawnOptions) (*Handle, error) {
	who := identity{opts.RunID, opts.ResourceID, opts.TeamID}
	if who.RunID == "" {
		who.RunID = uuid.NewString()
	}
	shell := opts.Shell
	if shell == "" {
		shell = e.opts.Shell
	}
	return e.c.launch(ctx, launch{
		op: opCreate,
		request: opensandbox.CreateRequest{
			SnapshotID: record.SnapshotID, Timeout: lifetime, ResourceLimits: e.opts.Resources.limits(),
			Env: opts.Env, Metadata: map[string]string{},
			Volumes: opts.Volumes, NetworkPolicy: opts.NetworkPolicy, CredentialProxy: credentialProxy(opts.CredentialProxy),
		},
		name: opts.Name, prefix: "env-" + e.name + "-", shell: shell, hooks: opts.Hooks, resources: e.opts.Resources, identity: who,
		created: func(id string) any {
			payload := derivedPayload{
				SandboxID: id, FromEnvironment: e.name, SnapshotID: record.SnapshotID, identity: who,
				NetworkPolicy: opts.NetworkPolicy, Resources: e.opts.Resources,
			}
			if opts.CredentialProxy {
				payload.CredentialProxy = &opts.CredentialProxy
			}
			return payload
		},
	})
}

// Environments lists those that were built, newest first.
func (c *Client) Environments(ctx context.Context) ([]store.Environment, error) {
	return c.store.ListEnvironments(ctx)
}

// DeleteEnvironment forgets an environment. Its snapshot stays on the server. One that is not known
// is a success.
func (c *Client) DeleteEnvironment(ctx context.Context, name string) error {
	return c.store.DeleteEnvironment(ctx, name)
}
