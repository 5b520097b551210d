package opensandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Diagnostics is what a server has to tell about a sandbox's inside.
type Diagnostics struct {
	SandboxID string `json:"sandboxId"`
	Kind      string `json:"kind"` // logs or events
	Scope     string `json:"scope"`
	// Delivery is "inline", with Content, or "url", with ContentURL; that one is to be fetched without
	// the API key.
	Delivery      string   `json:"delivery"`
	ContentType   string   `json:"contentType"`
	Content       string   `json:"content,omitempty"`
	ContentURL    string   `json:"contentUrl,omitempty"`
	ContentLength int64    `json:"contentLength,omitempty"` // bytes, 0 when it isn't known
	ExpiresAt     *Time    `json:"expiresAt,omitempty"`
	Truncated     bool     `json:"truncated"`
	Warnings      []string `json:"warnings,omitempty"`
}

// DiagnosticsQuery says which diagnostics. Servers have one of two generations of the call: with a
// scope, or with the limits below it.
type DiagnosticsQuery struct {
	// Scope is a server's name for a part, such as "container". Servers of the older generation
	// answer ErrUnsupported when it is set.
	Scope string
	Tail  int    // logs: how many of the last lines; 0 is the server's default
	Since string // logs: how far back, in the server's notation such as 10m; empty is everything
	Limit int    // events: how many of the last; 0 is the server's default
}

// DiagnosticLogs returns a sandbox's logs, as the machine that runs it has them.
func (c *Client) DiagnosticLogs(ctx context.Context, sandboxID string, query DiagnosticsQuery) (*Diagnostics, error) {
	return c.diagnostics(ctx, sandboxID, "logs", query)
}

// DiagnosticEvents returns what happened to a sandbox, as the machine that runs it saw it.
func (c *Client) DiagnosticEvents(ctx context.Context, sandboxID string, query DiagnosticsQuery) (*Diagnostics, error) {
	return c.diagnostics(ctx, sandboxID, "events", query)
}

func (c *Client) diagnostics(ctx context.Context, sandboxID, kind string, query DiagnosticsQuery) (*Diagnostics, error) {
	call := call{
		op: "get diagnostic " + kind, subject: sandboxID, method: http.MethodGet, idempotent: true, query: url.Values{},
		path: "/sandboxes/" + url.PathEscape(sandboxID) + "/diagnostics/" + kind,
	}
	if query.Scope != "" {
		call.query.Set("scope", query.Scope)
	}
	for key, value := range map[string]int{"tail": query.Tail, "limit": query.Limit} {
		if value != 0 {
			call.query.Set(key, strconv.Itoa(value))
		}
	}
	if query.Since != "" {
		call.query.Set("since", query.Since)
	}
	found := &Diagnostics{SandboxID: sandboxID, Kind: kind, Scope: query.Scope}
	err := c.do(ctx, call, found)
	if err != nil {
		return nil, err
	}
	return found, nil
}

// decodeReply takes a reply in either generation's form.
func (d *Diagnostics) decodeReply(resp *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxReply+1))
	if err != nil {
		return fmt.Errorf("reading the reply: %w", err)
	}
	if d.Truncated = len(body) > maxReply; d.Truncated {
		body = body[:maxReply]
	}
	contentType := resp.Header.Get("Content-Type")
	if kind, _, err := mime.ParseMediaType(contentType); err == nil && kind == "application/json" {
		return json.Unmarshal(body, d)
	}
	d.Delivery, d.ContentType, d.Content = "inline", contentType, strings.ToValidUTF8(string(body), "\ufffd")
	d.ContentLength = int64(len(body))
	return nil
}
