package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"syscall"

	"github.com/alineo-labs/alineo-host/host/internal/engine/unixsock"
)

// ErrNoDaemon is a data directory whose control socket nobody answers on.
var ErrNoDaemon = errors.New("no daemon runs with this data directory")

// Control asks a daemon on its control socket. It is safe for concurrent use.
type Control struct {
	socket string
	http   *http.Client
}

// NewControl returns a client of the daemon that uses a data directory. It does no I/O.
func NewControl(dir string) *Control {
	socket := filepath.Join(dir, controlSocket)
	return &Control{socket: socket, http: &http.Client{Transport: &http.Transport{
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return unixsock.Dial(ctx, socket) },
		DisableKeepAlives: true,
	}}}
}

// Status asks how the daemon's plugins are.
func (c *Control) Status(ctx context.Context) (ControlStatus, error) {
	var status ControlStatus
	err := c.ask(ctx, http.MethodGet, "/v1/plugins", &status)
	return status, err
}

// Reload has the daemon load a plugin anew. The error is a *ControlError when the daemon says no.
func (c *Control) Reload(ctx context.Context, name string) (Plugin, error) {
	var p Plugin
	err := c.ask(ctx, http.MethodPost, "/v1/plugins/"+url.PathEscape(name)+"/reload", &p)
	return p, err
}

// maxAnswer bounds what a daemon may answer, in bytes.
const maxAnswer = 16 << 20

func (c *Control) ask(ctx context.Context, method, path string, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, "http://daemon"+path, nil)
	if err != nil {
		return fmt.Errorf("asking the daemon: %w", err)
	}
	resp, err := c.http.Do(req)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("%w (%s)", ErrNoDaemon, c.socket)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("asking the daemon: %s is another user's", c.socket)
	case err != nil:
		return fmt.Errorf("asking the daemon on %s: %w", c.socket, err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("asking the daemon on %s: %w", c.socket, err)
	}
	if resp.StatusCode == http.StatusOK {
		if err := json.Unmarshal(data, into); err != nil {
			return fmt.Errorf("asking the daemon on %s: its answer can't be read: %w", c.socket, err)
		}
		return nil
	}
	var refused ControlError
	if err := json.Unmarshal(data, &refused); err != nil || refused.Code == "" {
		return fmt.Errorf("asking the daemon on %s: it answered %s; is it of another version?", c.socket, resp.Status)
	}
	return &refused
}
