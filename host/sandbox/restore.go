package sandbox

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
)

const opRestore = "restoring"

// RestoreOptions says what sandbox to make of a snapshot.
type RestoreOptions struct {
	Name       string // default sandbox- and the beginning of the id
	Resources  Resources
	Env        map[string]string
	Lifetime   time.Duration // as in CreateOptions
	Volumes    []opensandbox.Volume
	RunID      string // default a new one
	ResourceID string
	TeamID     string
	Shell      string // of its execs; default /bin/sh

	NetworkPolicy   *opensandbox.NetworkPolicy // as in CreateOptions
	CredentialProxy bool
}

// RestoreSnapshot makes a sandbox of a snapshot, whoever took it. Nothing is replayed: its first exec
// is number 1. See [Client.Resume] for going on with what the ledger knows.
func (c *Client) RestoreSnapshot(ctx context.Context, snapshotID string, opts RestoreOptions) (*Handle, error) {
	fail := func(err error) error { return c.fail(opRestore, "", err) }
	if snapshotID == "" {
		return nil, fail(fmt.Errorf("%w: no snapshot is named", ErrInvalid))
	}
	policy, err := checkNetwork(opts.NetworkPolicy, opts.CredentialProxy)
	if err != nil {
		return nil, fail(err)
	}
	opts.NetworkPolicy = policy
	lifetime, err := c.lifetime(opts.Lifetime)
	if err != nil {
		return nil, fail(err)
	}
	who := identity{opts.RunID, opts.ResourceID, opts.TeamID}
	if who.RunID == "" {
		who.RunID = uuid.NewString()
	}
	resources := opts.Resources.or(c.opts.Resources)
	return c.launch(ctx, launch{
		op: opRestore,
		request: opensandbox.CreateRequest{
			SnapshotID: snapshotID, Timeout: lifetime, ResourceLimits: resources.limits(), Env: opts.Env, Metadata: map[string]string{},
			Volumes: opts.Volumes, NetworkPolicy: opts.NetworkPolicy, CredentialProxy: credentialProxy(opts.CredentialProxy),
		},
		name: opts.Name, shell: opts.Shell, resources: resources, identity: who,
		created: func(id string) any {
			payload := derivedPayload{
				SandboxID: id, FromSnapshot: snapshotID, identity: who, NetworkPolicy: opts.NetworkPolicy, Resources: resources,
			}
			if opts.CredentialProxy {
				payload.CredentialProxy = &opts.CredentialProxy
			}
			return payload
		},
	})
}
