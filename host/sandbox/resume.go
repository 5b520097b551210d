package sandbox

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

// Resume makes a new sandbox from a checkpoint of another one, which need not exist any more, and
// answers the execs that had completed by then from the ledger. The new one has the old one's name,
// run id and resources, and an id of its own. A sandbox or checkpoint that isn't there is
// store.ErrNotFound. The old sandbox is not touched.
func (c *Client) Resume(ctx context.Context, sandboxID string, opts ResumeOptions) (*Handle, error) {
	l, err := c.prepareResume(ctx, sandboxID, opts)
	if err != nil {
		return nil, &Error{Op: opResume, SandboxID: sandboxID, Err: err}
	}
	return c.launch(ctx, l)
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
	if origin.runID == "" {
		origin.runID = uuid.NewString()
	}
	resources := origin.resources.or(c.opts.Resources)
	var after int64
	if opts.NoReplay {
		for _, recorded := range [...]map[int64]*ledger.Exec{history.Results, history.Unfinished} {
			for seq := range recorded {
				after = max(after, seq)
			}
		}
		history.Results = nil
	}
	return launch{
		op: opResume, from: key.SandboxID,
		request: opensandbox.CreateRequest{
			SnapshotID: history.Checkpoint.SnapshotID, Timeout: lifetime, ResourceLimits: resources.limits(),
			Env: opts.Env, Metadata: map[string]string{},
		},
		name: key.Name, shell: opts.Shell, hooks: opts.Hooks, resources: resources,
		replay: c.newReplay(history, opts.IgnoreDivergence), after: after,
		runID: origin.runID,
		created: func(id string) any {
			return resumedPayload{
				SandboxID: id,
				// The sandbox whose checkpoint it is: an ancestor when this one has none of its own.
				ResumedFrom: history.Checkpoint.Key.SandboxID, SnapshotID: history.Checkpoint.SnapshotID,
				RunID: origin.runID, ResourceID: origin.resourceID, TeamID: origin.teamID, Resources: resources,
			}
		},
	}, nil
}

// creation sums up how a lineage's sandboxes were made: what the last one doesn't say, those before
// it may. The reference records no resources when it resumes.
func creation(lineage []ledger.Origin) (recordedCreation, error) {
	var sum recordedCreation
	for _, origin := range slices.Backward(lineage) {
		created := readCreated(origin.Created)
		if created.networkPolicy || created.credentialProxy {
			// Made without it, the sandbox would have an open network.
			return recordedCreation{}, fmt.Errorf("%w: sandbox %s has a network policy, which can't be restored yet",
				store.ErrUnsupported, origin.Key)
		}
		sum.resources = sum.resources.or(created.resources)
		for _, field := range [...]struct{ into, from *string }{
			{&sum.runID, &created.runID}, {&sum.resourceID, &created.resourceID}, {&sum.teamID, &created.teamID},
		} {
			if *field.into == "" {
				*field.into = *field.from
			}
		}
	}
	return sum, nil
}
