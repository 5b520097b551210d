package sandbox

import (
	"context"

	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/store"
)

// Stop ends a sandbox that nobody holds any more, such as one whose process was killed: it is deleted
// from the server, if it is still there, and its ledger gets sandbox.closed, unless it has one. Who
// does hold it can't write to its ledger any more.
func (c *Client) Stop(ctx context.Context, key store.Key) error {
	const op = "stopping"
	fail := func(err error) error { return c.fail(op, key.SandboxID, err) }
	details, err := c.store.GetSandbox(ctx, key)
	if err != nil {
		return fail(err)
	}
	if err := c.wire.DeleteSandbox(ctx, key.SandboxID); err != nil {
		return fail(err)
	}
	if details.Status == store.StatusCompleted {
		return nil
	}
	stream, err := c.opts.Ledger.Open(ctx, key)
	if err != nil {
		return fail(err)
	}
	if err := stream.Append(ctx, ledger.Event{Step: -1, Name: store.EventSandboxClosed}); err != nil {
		return fail(err)
	}
	return nil
}
