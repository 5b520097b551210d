package sandbox

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/internal/span"
	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

// Resume makes a new sandbox from a checkpoint of another one, which need not exist any more, and
// answers the execs that had completed by then from the ledger. The new one has the old one's name,
// run id and resources, and an id of its own. A sandbox or checkpoint that isn't there is
// store.ErrNotFound. The old sandbox is not touched.
func (c *Client) Resume(ctx context.Context, sandboxID string, opts ResumeOptions) (*Handle, error) {
	ctx, s := c.trace.Start(ctx, "sandbox.resume")
	s.Text(span.Sandbox, sandboxID)
	l, err := c.prepareResume(ctx, sandboxID, opts)
	if err != nil {
		s.End(failureWord(err))
		return nil, c.fail(opResume, sandboxID, err)
	}
	s.Text(span.Name, l.name)
	s.Text(span.Run, l.identity.RunID)
	handle, err := c.launch(ctx, l)
	s.End(failureWord(err))
	return handle, err
}

func (c *Client) prepareResume(ctx context.Context, sandboxID string, opts ResumeOptions) (launch, error) {
	lifetime, err := c.lifetime(opts.Lifetime)
	if err != nil {
		return launch{}, err
	}
	details, err := c.store.FindSandbox(ctx, sandboxID)
	if errors.Is(err, store.ErrNotFound) {
		return launch{}, fmt.Errorf("the ledger does not know it: %w", err)
	}
	if err != nil {
		return launch{}, err
	}
	key := store.Key{Name: details.Name, SandboxID: details.SandboxID}
	history, err := ledger.BuildReplay(ctx, c.store, key, ledger.ReplayOptions{
		Tag: opts.Tag, OwnOnly: opts.OwnOnly, MaxText: int64(c.opts.ResultBytes),
	})
	if err != nil {
		return launch{}, err
	}
	origin, err := creation(history.Lineage)
	if err != nil {
		return launch{}, err
	}
	credentials, err := c.controlsNow(ctx, key, &origin, opts.ResolveCredential)
	if err != nil {
		return launch{}, err
	}
	if origin.identity.RunID == "" {
		origin.identity.RunID = uuid.NewString()
	}
	resources := origin.resources.or(c.opts.Resources)
	var after int64
	if opts.NoReplay {
		for _, recorded := range [...]map[int64]*ledger.Exec{history.Results, history.Unfinished} {
			for seq := range recorded {
				after = max(after, seq)
			}
		}
		history.Results, history.Unfinished = nil, nil
	}
	return launch{
		op: opResume, from: key.SandboxID,
		request: opensandbox.CreateRequest{
			SnapshotID: history.Checkpoint.SnapshotID, Timeout: lifetime, ResourceLimits: resources.limits(),
			Env: opts.Env, Metadata: map[string]string{},
			Volumes: opts.Volumes, NetworkPolicy: origin.networkPolicy, CredentialProxy: credentialProxy(origin.credentialProxy),
		},
		name: key.Name, shell: opts.Shell, hooks: opts.Hooks, resources: resources,
		replay: c.newReplay(history, opts.IgnoreDivergence), after: after,
		identity: origin.identity, credentials: credentials,
		created: func(id string) any {
			payload := derivedPayload{
				SandboxID: id,
				// The sandbox whose checkpoint it is: an ancestor when this one has none of its own.
				ResumedFrom: history.Checkpoint.Key.SandboxID, SnapshotID: history.Checkpoint.SnapshotID,
				identity: origin.identity, NetworkPolicy: origin.networkPolicy, Resources: resources,
			}
			if origin.credentialProxy {
				payload.CredentialProxy = &origin.credentialProxy
			}
			return payload
		},
	}, nil
}

// controlsNow makes of a sandbox's origin what its network had come to in the end, and returns its
// credentials with their values.
func (c *Client) controlsNow(
	ctx context.Context, key store.Key, origin *recordedCreation, ask credential.Resolver,
) ([]readyCredential, error) {
	if origin.networkPolicy == nil && !origin.credentialProxy {
		return nil, nil
	}
	found, err := c.readControls(ctx, key)
	if err != nil {
		return nil, err
	}
	if origin.networkPolicy != nil {
		origin.networkPolicy = found.egress.onto(origin.networkPolicy)
	}
	return c.resolveAll(ctx, key.SandboxID, found.credentials, ask)
}

// creation sums up how a lineage's sandboxes were made: what the last one doesn't say, those before
// it may. The reference records no resources when it resumes. The network is the last one's own.
func creation(lineage []ledger.Origin) (recordedCreation, error) {
	var sum recordedCreation
	for i, origin := range slices.Backward(lineage) {
		created, err := readCreated(origin.Created)
		if err != nil {
			return recordedCreation{}, fmt.Errorf("sandbox %s: %w", origin.Key, err)
		}
		if i == len(lineage)-1 {
			sum.networkPolicy, sum.credentialProxy = created.networkPolicy, created.credentialProxy
		}
		sum.resources = sum.resources.or(created.resources)
		sum.identity = sum.identity.or(created.identity)
	}
	return sum, nil
}
