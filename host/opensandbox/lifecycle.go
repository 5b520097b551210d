package opensandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const pageSize = 200

// CreateSandbox makes a sandbox. Servers pull the image and start it inside the call, so it may
// take minutes. It is sent once: after an error other than an *Error, a sandbox may exist whose id
// nobody knows; give it metadata to find it by.
//
// A sandbox that is Running may still need a moment until its execd answers: see [Execd.Ping].
func (c *Client) CreateSandbox(ctx context.Context, req CreateRequest) (*Sandbox, error) {
	call := call{
		op: "create sandbox", method: http.MethodPost, path: "/sandboxes", timeout: c.opts.LifecycleTimeout,
	}
	if err := req.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", call.name(), err)
	}
	var err error
	if call.body, err = json.Marshal(req); err != nil {
		return nil, fmt.Errorf("%s: %w", call.name(), err)
	}
	var box Sandbox
	if err := c.do(ctx, call, &box); err != nil {
		return nil, c.undoCreate(ctx, err)
	}
	if box.ID == "" {
		return nil, fmt.Errorf("%s: the reply names no id", call.name())
	}
	return &box, nil
}

// undoCreate deletes a sandbox that was made although its description can't be understood.
func (c *Client) undoCreate(ctx context.Context, err error) error {
	var reply *replyError
	if !errors.As(err, &reply) {
		return err
	}
	var made struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(reply.body, &made) != nil || made.ID == "" {
		return err
	}
	return errors.Join(err, c.DeleteSandbox(context.WithoutCancel(ctx), made.ID))
}

// GetSandbox describes a sandbox. One that expired or was deleted is ErrNotFound.
func (c *Client) GetSandbox(ctx context.Context, id string) (*Sandbox, error) {
	var box Sandbox
	err := c.do(ctx, call{
		op: "get sandbox", subject: id, method: http.MethodGet, path: "/sandboxes/" + url.PathEscape(id), idempotent: true,
	}, &box)
	if err != nil {
		return nil, err
	}
	return &box, nil
}

// DeleteSandbox ends a sandbox. One that is gone already is a success.
func (c *Client) DeleteSandbox(ctx context.Context, id string) error {
	err := c.do(ctx, call{
		op: "delete sandbox", subject: id, method: http.MethodDelete, path: "/sandboxes/" + url.PathEscape(id),
		idempotent: true, timeout: c.opts.LifecycleTimeout,
	}, nil)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	c.ForgetEndpoints(id)
	return nil
}

// ListSandboxes lists what the server has, newest first, fetching pages as they are needed. Pages
// are by offset, so a sandbox that comes or goes meanwhile may be missed, but none comes twice. An
// error ends the sequence.
func (c *Client) ListSandboxes(ctx context.Context, filter SandboxFilter) iter.Seq2[Sandbox, error] {
	query := url.Values{"pageSize": {strconv.Itoa(pageSize)}}
	if len(filter.States) > 0 {
		query["state"] = filter.States
	}
	if len(filter.Metadata) > 0 {
		inner := make(url.Values, len(filter.Metadata))
		for key, value := range filter.Metadata {
			inner.Set(key, value)
		}
		// One parameter whose value is a query string itself, so it gets encoded twice.
		query.Set("metadata", inner.Encode())
	}
	return pages(ctx, c, "list sandboxes", "/sandboxes", query, func(box Sandbox) string { return box.ID })
}

// pages walks a listing.
func pages[T any](ctx context.Context, c *Client, op, path string, query url.Values, id func(T) string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		query := maps.Clone(query) // the sequence may be walked by two at a time
		seen := make(map[string]struct{})
		for page := 1; ; page++ {
			query.Set("page", strconv.Itoa(page))
			var reply struct {
				Items      []T        `json:"items"`
				Pagination pagination `json:"pagination"`
			}
			err := c.do(ctx, call{op: op, method: http.MethodGet, path: path, query: query, idempotent: true}, &reply)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range reply.Items {
				if _, twice := seen[id(item)]; twice {
					continue
				}
				seen[id(item)] = struct{}{}
				if !yield(item, nil) {
					return
				}
			}
			if !reply.Pagination.HasNextPage || len(reply.Items) == 0 {
				return
			}
		}
	}
}

// PatchMetadata changes a sandbox's metadata and returns the sandbox: keys with a value are set,
// keys with nil are removed, others stay.
func (c *Client) PatchMetadata(ctx context.Context, id string, changes map[string]*string) (*Sandbox, error) {
	call := call{
		op: "patch metadata", subject: id, method: http.MethodPatch, idempotent: true,
		path: "/sandboxes/" + url.PathEscape(id) + "/metadata",
	}
	set := make(map[string]string, len(changes))
	for key, value := range changes {
		if set[key] = ""; value != nil {
			set[key] = *value
		}
	}
	if err := checkLabels(set); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", call.name(), ErrInvalid, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	var err error
	if call.body, err = json.Marshal(changes); err != nil {
		return nil, fmt.Errorf("%s: %w", call.name(), err)
	}
	if len(changes) == 0 {
		call.body = []byte("{}")
	}
	var box Sandbox
	if err := c.do(ctx, call, &box); err != nil {
		return nil, err
	}
	return &box, nil
}

// PauseSandbox asks for a sandbox to be frozen. Poll [Client.GetSandbox] until it is Paused. It is
// ErrConflict for a sandbox that isn't running.
func (c *Client) PauseSandbox(ctx context.Context, id string) error {
	return c.transition(ctx, "pause sandbox", id, "pause")
}

// ResumeSandbox asks for a paused sandbox to go on. Poll [Client.GetSandbox] until it is Running,
// and then [Execd.Ping]: on some servers its processes are gone and its addresses are others.
func (c *Client) ResumeSandbox(ctx context.Context, id string) error {
	return c.transition(ctx, "resume sandbox", id, "resume")
}

// transition is sent once: a repeated one is a conflict with itself.
func (c *Client) transition(ctx context.Context, op, id, verb string) error {
	err := c.do(ctx, call{
		op: op, subject: id, method: http.MethodPost, path: "/sandboxes/" + url.PathEscape(id) + "/" + verb,
		timeout: c.opts.LifecycleTimeout,
	}, nil)
	c.ForgetEndpoints(id)
	return err
}

// RenewExpiration moves the end of a sandbox's life and returns what the server made of it. It is
// ErrConflict for a sandbox that never expires.
func (c *Client) RenewExpiration(ctx context.Context, id string, at time.Time) (time.Time, error) {
	body, err := json.Marshal(map[string]string{"expiresAt": at.UTC().Format("2006-01-02T15:04:05.000Z")})
	if err != nil {
		return time.Time{}, fmt.Errorf("renew expiration %q: %w", id, err)
	}
	var reply struct {
		ExpiresAt Time `json:"expiresAt"`
	}
	err = c.do(ctx, call{
		op: "renew expiration", subject: id, method: http.MethodPost, body: body,
		path: "/sandboxes/" + url.PathEscape(id) + "/renew-expiration",
		// A POST, but to an absolute time: twice is the same as once.
		idempotent: true,
	}, &reply)
	if err != nil {
		return time.Time{}, err
	}
	if reply.ExpiresAt.IsZero() {
		return at, nil
	}
	return reply.ExpiresAt.Time, nil
}
