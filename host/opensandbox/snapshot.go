package opensandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
)

// CreateSnapshot starts a snapshot of a running sandbox's files. Poll [Client.GetSnapshot] until it
// is Ready or Failed. name may be empty.
func (c *Client) CreateSnapshot(ctx context.Context, sandboxID, name string) (*Snapshot, error) {
	call := call{
		op: "create snapshot", subject: sandboxID, method: http.MethodPost,
		path: "/sandboxes/" + url.PathEscape(sandboxID) + "/snapshots", timeout: c.opts.LifecycleTimeout,
	}
	if name != "" {
		body, err := json.Marshal(map[string]string{"name": name})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", call.name(), err)
		}
		call.body = body
	}
	var snapshot Snapshot
	if err := c.do(ctx, call, &snapshot); err != nil {
		return nil, err
	}
	if snapshot.ID == "" {
		return nil, fmt.Errorf("%s: the reply names no id", call.name())
	}
	return &snapshot, nil
}

// GetSnapshot describes a snapshot.
func (c *Client) GetSnapshot(ctx context.Context, id string) (*Snapshot, error) {
	var snapshot Snapshot
	err := c.do(ctx, call{
		op: "get snapshot", subject: id, method: http.MethodGet, path: "/snapshots/" + url.PathEscape(id), idempotent: true,
	}, &snapshot)
	if err != nil {
		return nil, err
	}
	return &snapshot, nil
}

// DeleteSnapshot removes a snapshot. One that is gone already is a success; one that is being made
// or that something stands on is ErrConflict.
func (c *Client) DeleteSnapshot(ctx context.Context, id string) error {
	err := c.do(ctx, call{
		op: "delete snapshot", subject: id, method: http.MethodDelete, path: "/snapshots/" + url.PathEscape(id),
		idempotent: true, timeout: c.opts.LifecycleTimeout,
	}, nil)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// ListSnapshots lists the snapshots that the server has, newest first, as [Client.ListSandboxes]
// lists sandboxes.
func (c *Client) ListSnapshots(ctx context.Context, filter SnapshotFilter) iter.Seq2[Snapshot, error] {
	query := url.Values{"pageSize": {strconv.Itoa(pageSize)}}
	if filter.SandboxID != "" {
		query.Set("sandboxId", filter.SandboxID)
	}
	if len(filter.States) > 0 {
		query["state"] = filter.States
	}
	return pages(ctx, c, "list snapshots", "/snapshots", query, func(s Snapshot) string { return s.ID })
}
