package sandbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"time"

	"github.com/google/uuid"

	"github.com/alineo-labs/alineo-host/host/internal/span"
	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

const (
	opCreate = "creating"
	opResume = "resuming"

	// cleanupTimeout bounds what is done for a sandbox that nobody will get.
	cleanupTimeout = time.Minute

	// createLabel marks what one create call made, so that it can be found when the answer is lost.
	createLabel = "alineo-host/create"
)

// Create makes a sandbox, waits until it answers, and records it. While MaxConcurrency sandboxes are
// open it waits for one to be closed. When it fails, or ctx ends, nothing is left behind.
func (c *Client) Create(ctx context.Context, opts CreateOptions) (*Handle, error) {
	if opts.Image == "" {
		opts.Image = c.opts.Image
	}
	if opts.Image == "" {
		return nil, c.fail(opCreate, "", fmt.Errorf("%w: it names no image", ErrInvalid))
	}
	lifetime, err := c.lifetime(opts.Lifetime)
	if err != nil {
		return nil, c.fail(opCreate, "", err)
	}
	if opts.NetworkPolicy, err = checkNetwork(opts.NetworkPolicy, opts.CredentialProxy); err != nil {
		return nil, c.fail(opCreate, "", err)
	}
	if len(opts.Entrypoint) == 0 {
		opts.Entrypoint = []string{"tail", "-f", "/dev/null"}
	}
	if opts.RunID == "" {
		opts.RunID = uuid.NewString()
	}
	resources := opts.Resources.or(c.opts.Resources)
	image := &opensandbox.Image{URI: opts.Image}
	if opts.ImageAuth != nil {
		image.Auth = &opensandbox.ImageAuth{Username: opts.ImageAuth.Username, Password: opts.ImageAuth.Password}
	}
	metadata := map[string]string{}
	maps.Copy(metadata, opts.Metadata)
	identity := identity{opts.RunID, opts.ResourceID, opts.TeamID}
	return c.launch(ctx, launch{
		op: opCreate,
		request: opensandbox.CreateRequest{
			Image: image, Entrypoint: opts.Entrypoint, Timeout: lifetime,
			ResourceLimits: resources.limits(), Env: opts.Env, Metadata: metadata,
			NetworkPolicy: opts.NetworkPolicy, CredentialProxy: credentialProxy(opts.CredentialProxy),
			Volumes: opts.Volumes, Platform: opts.Platform, Extensions: opts.Extensions,
		},
		name: opts.Name, shell: opts.Shell, hooks: opts.Hooks, resources: resources, identity: identity,
		created: func(id string) any {
			return createdPayload{
				SandboxID: id, Resources: resources, identity: identity,
				NetworkPolicy: opts.NetworkPolicy, CredentialProxy: opts.CredentialProxy,
			}
		},
	})
}

// lifetime returns a lifetime in whole seconds, 0 for none.
func (c *Client) lifetime(d time.Duration) (int, error) {
	const least = time.Minute
	if d == 0 {
		d = c.opts.Lifetime
	}
	if d != 0 && d < least {
		return 0, fmt.Errorf("%w: a lifetime of %s is shorter than %s", ErrInvalid, d, least)
	}
	return int((d + time.Second - 1) / time.Second), nil
}

// launch is one sandbox on its way.
type launch struct {
	op        string
	from      string // id of the sandbox that is resumed
	request   opensandbox.CreateRequest
	created   func(sandboxID string) any // payload of sandbox.created
	identity  identity
	name      string
	prefix    string // of the name that it gets from its id when name is empty; default sandbox-
	shell     string
	resources Resources
	hooks     *Hooks
	replay    *replay
	after     int64  // seq of the last exec before its first
	slot      func() // gives back the right to it, when that was acquired already
	// credentials are bound before the handle is handed out.
	credentials []readyCredential
}

// launch makes a sandbox and hands out the handle only when the ledger has it.
func (c *Client) launch(ctx context.Context, l launch) (*Handle, error) {
	ctx, s := c.trace.Start(ctx, "sandbox.create")
	s.Text(span.Op, l.op)
	s.Text(span.Run, c.redactor().Text(l.identity.RunID))
	handle, err := c.doLaunch(ctx, l)
	if handle != nil {
		s.Text(span.Sandbox, handle.id)
		s.Text(span.Name, handle.name)
	}
	s.End(failureWord(err))
	return handle, err
}

func (c *Client) doLaunch(ctx context.Context, l launch) (*Handle, error) {
	l.hooks = c.opts.Hooks.and(l.hooks)
	done, err := c.begin()
	if err == nil {
		if err = c.mayRecord("what is to be recorded of it", []any{l.name, l.created("")}); err != nil {
			done()
		}
	}
	if err != nil {
		if l.slot != nil {
			l.slot()
		}
		return nil, c.fail(l.op, l.from, err)
	}
	defer done()
	release := l.slot
	if release == nil {
		if release, err = c.acquire(ctx); err != nil {
			return nil, c.fail(l.op, l.from, err)
		}
	}
	box, err := c.make(ctx, &l, release)
	if err != nil {
		return nil, c.failed(&l, "", err)
	}
	handle, err := c.admit(ctx, &l, box, release)
	if err != nil {
		err = c.undo(ctx, box.ID, err)
		release()
		return nil, c.failed(&l, box.ID, err)
	}
	return handle, nil
}

func (c *Client) failed(l *launch, id string, err error) error {
	about := id
	if l.from != "" {
		about = l.from
	}
	err = c.fail(l.op, about, err)
	if hookErr := guard("SandboxFailed", func() { l.hooks.failed(id, err) }); hookErr != nil {
		return errors.Join(err, hookErr)
	}
	return err
}

// make asks the server for a sandbox. Servers go on making one when nobody waits any more, so the
// answer is always waited for: here, or behind the caller's back when ctx ends, to delete it. It
// gives the slot back when it fails.
func (c *Client) make(ctx context.Context, l *launch, release func()) (*opensandbox.Sandbox, error) {
	label := uuid.NewString()
	l.request.Metadata[createLabel] = label
	l.request.Metadata["runId"] = l.identity.RunID
	type answer struct {
		box *opensandbox.Sandbox
		err error
	}
	if ctx.Err() != nil {
		release()
		return nil, context.Cause(ctx)
	}
	answers := make(chan answer, 1)
	detached := context.WithoutCancel(ctx)
	c.busy.Go(func() {
		box, err := c.wire.CreateSandbox(detached, l.request)
		if err != nil {
			err = errors.Join(err, c.sweep(detached, label, err))
		}
		answers <- answer{box, err}
	})
	select {
	case a := <-answers:
		if a.err != nil {
			release()
		}
		return a.box, a.err
	case <-ctx.Done():
	}
	c.busy.Go(func() {
		defer release()
		a := <-answers
		if a.err != nil {
			return // the caller's error is ctx's; there is no sandbox
		}
		if err := c.undo(detached, a.box.ID, nil); err != nil {
			c.log.Error("a sandbox whose caller left could not be deleted", "sandbox", a.box.ID, "err", err)
		}
	})
	return nil, context.Cause(ctx)
}

// sweep deletes what a create call may have made although its answer was lost.
func (c *Client) sweep(ctx context.Context, label string, failure error) error {
	if !lost(failure) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, cleanupTimeout)
	defer cancel()
	for box, err := range c.wire.ListSandboxes(ctx, opensandbox.SandboxFilter{Metadata: map[string]string{createLabel: label}}) {
		if err != nil {
			return fmt.Errorf("looking for what was made: %w", err)
		}
		if box.Metadata[createLabel] != label {
			continue // a server that doesn't filter
		}
		if err := c.wire.DeleteSandbox(ctx, box.ID); err != nil {
			return fmt.Errorf("deleting what was made: %w", err)
		}
	}
	return nil
}

// lost reports whether the server may have done what it was asked for although it did not say so.
func lost(failure error) bool {
	if _, refused := errors.AsType[*opensandbox.Error](failure); refused || errors.Is(failure, opensandbox.ErrInvalid) {
		return false
	}
	dial, ok := errors.AsType[*net.OpError](failure)
	return !ok || dial.Op != "dial"
}

// autoName returns the name of a sandbox that was not given one.
func autoName(prefix, id string) string {
	if prefix == "" {
		prefix = "sandbox-"
	}
	const digits = 8
	return prefix + id[:min(digits, len(id))]
}

func credentialProxy(wanted bool) *opensandbox.CredentialProxy {
	if !wanted {
		return nil
	}
	return &opensandbox.CredentialProxy{Enabled: true}
}

// admit waits for a sandbox and records it. What it returns is ready.
func (c *Client) admit(ctx context.Context, l *launch, box *opensandbox.Sandbox, release func()) (*Handle, error) {
	if err := c.awaitRunning(ctx, box); err != nil {
		return nil, err
	}
	if err := c.awaitExecd(ctx, box.ID); err != nil {
		return nil, err
	}
	if l.name == "" {
		l.name = autoName(l.prefix, box.ID)
	}
	stream, err := c.opts.Ledger.Open(ctx, store.Key{Name: l.name, SandboxID: box.ID})
	if err != nil {
		return nil, err
	}
	handle := c.newHandle(l, box.ID, stream, release)
	handle.enter() // before anybody can know of it from the ledger
	if err := c.record(ctx, l, handle); err != nil {
		handle.depart(ctx)
		return nil, err
	}
	return handle, nil
}

// record tells the ledger of a sandbox, and what its handle is handed out with.
func (c *Client) record(ctx context.Context, l *launch, handle *Handle) error {
	stream := handle.stream
	payload, err := encode(l.created(handle.id))
	if err != nil {
		return err
	}
	if err := stream.Append(ctx, ledger.Event{Step: -1, Name: store.EventSandboxCreated, Payload: payload}); err != nil {
		if !unwritten(err) {
			c.writeOff(ctx, stream)
		}
		return err
	}
	if err := handle.bindAll(ctx, l.credentials); err != nil {
		handle.bound.end()
		c.writeOff(ctx, stream)
		return err
	}
	if l.op == opResume || l.op == opRestore || l.op == opFork {
		return nil // the reference does not call the hook for those
	}
	if err := guard("SandboxCreated", func() { l.hooks.created(handle.id, l.name) }); err != nil {
		c.writeOff(ctx, stream)
		return err
	}
	return nil
}

// writeOff closes the ledger of a sandbox that will be deleted: one without sandbox.closed is listed
// as running for ever. The ledger may be the reason, so it goes on behind the caller's back for as
// long as the ledger may need.
func (c *Client) writeOff(ctx context.Context, stream *ledger.Stream) {
	c.busy.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		defer cancel()
		var last error
		err := poll(ctx, cleanupTimeout, maxStateWait, func() error { return last }, func() (bool, error) {
			last = stream.Append(ctx, ledger.Event{Step: -1, Name: store.EventSandboxClosed})
			if errors.Is(last, store.ErrConflict) || errors.Is(last, ledger.ErrClosed) {
				return false, last
			}
			return last == nil, nil
		})
		if err != nil {
			key := stream.Key()
			c.log.Warn("a sandbox that was given up may be listed as running", "sandbox", key.SandboxID, "name", key.Name, "err", err)
		}
	})
}

// undo deletes a sandbox that nobody will get and joins what goes wrong to the reason.
func (c *Client) undo(ctx context.Context, id string, reason error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	if err := c.wire.DeleteSandbox(ctx, id); err != nil {
		return errors.Join(reason, fmt.Errorf("and the sandbox is left behind: %w", err))
	}
	return reason
}
