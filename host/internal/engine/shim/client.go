package shim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"time"

	"github.com/alineo-labs/alineo-host/host/internal/engine/trail"
	"github.com/alineo-labs/alineo-host/host/internal/engine/unixsock"
)

// Client talks to the shim of one sandbox. It is safe for concurrent use.
type Client struct {
	http *http.Client
}

// Dial makes the client for the sandbox in dir. It connects when it is used.
func Dial(dir string) *Client {
	path := filepath.Join(dir, SocketFile)
	return &Client{http: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return unixsock.Dial(ctx, path) },
		// One connection waits; others come and go rarely.
		DisableKeepAlives: true,
	}}}
}

// State asks how the sandbox is.
func (c *Client) State(ctx context.Context) (State, error) {
	var st State
	err := c.do(ctx, http.MethodGet, "/state", nil, &st)
	return st, err
}

// ErrEnding tells that a sandbox ends just now.
var ErrEnding = errors.New("the sandbox is ending")

// Renew sets when the sandbox ends by itself. Its error is ErrEnding when it does so already.
func (c *Client) Renew(ctx context.Context, at time.Time) error {
	return c.do(ctx, http.MethodPut, "/expiration", at, nil)
}

// Destroy ends the sandbox. When it returns nil, processes, mounts, control
// group and directory are gone.
func (c *Client) Destroy(ctx context.Context) error {
	return c.do(ctx, http.MethodDelete, "/", nil, nil)
}

// Stop stops the sandbox's processes by signal until Continue.
func (c *Client) Stop(ctx context.Context) error {
	return c.do(ctx, http.MethodPost, "/stop", nil, nil)
}

// Continue undoes Stop.
func (c *Client) Continue(ctx context.Context) error {
	return c.do(ctx, http.MethodPost, "/continue", nil, nil)
}

// Logs returns the last tail lines that the entry point wrote since from, each
// after the time of its end.
func (c *Client) Logs(ctx context.Context, tail int, from time.Time) (string, error) {
	q := url.Values{"tail": {strconv.Itoa(tail)}}
	if !from.IsZero() {
		q.Set("from", from.UTC().Format(time.RFC3339Nano))
	}
	resp, err := c.send(ctx, http.MethodGet, "/logs?"+q.Encode(), nil)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, bytes.TrimSpace(text))
	}
	if err != nil {
		return "", fmt.Errorf("shim: reading the log: %w", err)
	}
	return string(text), nil
}

// Attempts are the latest that the sandbox made to reach something and that didn't go as it wanted, and
// those that got a credential.
func (c *Client) Attempts(ctx context.Context) ([]trail.Entry, error) {
	var out []trail.Entry
	err := c.do(ctx, http.MethodGet, "/attempts", nil, &out)
	return out, err
}

// Wait returns nil when the shim has gone. exited is called once before that,
// if the init ends while the shim stays.
func (c *Client) Wait(ctx context.Context, exited func(State)) error {
	resp, err := c.send(ctx, http.MethodGet, "/wait", nil)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	var st State
	if err := json.NewDecoder(resp.Body).Decode(&st); err == nil {
		exited(st)
	}
	_, _ = io.Copy(io.Discard, resp.Body) // until the connection breaks
	return ctx.Err()
}

func (c *Client) do(ctx context.Context, method, path string, in, out any) error {
	resp, err := c.send(ctx, method, path, in)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode == http.StatusGone {
		return fmt.Errorf("shim: %s %s: %w", method, path, ErrEnding)
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		msg, _ := io.ReadAll(io.LimitReader(resp.Body, 4096)) // the status says enough without
		return fmt.Errorf("shim: %s %s: %s: %s", method, path, resp.Status, bytes.TrimSpace(msg))
	}
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		return fmt.Errorf("shim: %s %s: %w", method, path, err)
	}
	return nil
}

func (c *Client) send(ctx context.Context, method, path string, in any) (*http.Response, error) {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, fmt.Errorf("shim: %s %s: %w", method, path, err)
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://shim"+path, body)
	if err != nil {
		return nil, fmt.Errorf("shim: %s %s: %w", method, path, err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("shim: %w", err)
	}
	return resp, nil
}
