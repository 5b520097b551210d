package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/alineo-labs/alineo-host/host/internal/engine/unixsock"
)

// ServerStatus is what a data directory's server is doing.
type ServerStatus struct {
	Data      string         `json:"data"`
	Serving   bool           `json:"serving"` // what follows is empty when nobody serves
	PID       int            `json:"pid,omitempty"`
	Since     *time.Time     `json:"since,omitempty"`
	Isolation string         `json:"isolation,omitempty"`
	Sandboxes map[string]int `json:"sandboxes,omitempty"` // by state
	Snapshots map[string]int `json:"snapshots,omitempty"` // by state
}

// Status asks a data directory's server how it is, without becoming it. That nobody serves is no
// error.
func Status(ctx context.Context, opts Options) (ServerStatus, error) {
	dir, err := namedDataDir(opts.DataDir)
	if err != nil {
		return ServerStatus{}, fmt.Errorf("asking the engine: %w", err)
	}
	s := ServerStatus{Data: dir}
	socket := filepath.Join(dir, socketFile)
	c, err := unixsock.Dial(ctx, socket)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, os.ErrNotExist):
		return s, nil
	case err != nil:
		return s, fmt.Errorf("asking the engine of %s: %w", dir, err)
	}
	_ = c.Close()
	h, err := readHolder(filepath.Join(dir, lockFile))
	if err != nil {
		return s, fmt.Errorf("asking the engine of %s: %w", dir, err)
	}
	s.Serving, s.PID, s.Since, s.Isolation = true, h.Pid, &h.Since, h.Level
	transport := &http.Transport{
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return unixsock.Dial(ctx, socket) },
		DisableKeepAlives: true,
	}
	if s.Sandboxes, err = countStates(ctx, transport, "/sandboxes"); err != nil {
		return s, err
	}
	s.Snapshots, err = countStates(ctx, transport, "/snapshots")
	return s, err
}

// pageSize is the most that a listing gives at once.
const pageSize = 200

// countStates pages through a listing and counts its items by state.
func countStates(ctx context.Context, transport http.RoundTripper, path string) (map[string]int, error) {
	client := &http.Client{Transport: transport}
	counts := map[string]int{}
	for page := 1; ; page++ {
		url := "http://" + host + path + "?pageSize=" + strconv.Itoa(pageSize) + "&page=" + strconv.Itoa(page)
		listing, err := getListing(ctx, client, url)
		if err != nil {
			return nil, fmt.Errorf("asking the engine for %s: %w", path, err)
		}
		for _, item := range listing.Items {
			counts[item.Status.State]++
		}
		if !listing.Pagination.HasNextPage {
			return counts, nil
		}
	}
}

// listing is the part of the two listings that they share.
type listing struct {
	Items []struct {
		Status struct {
			State string `json:"state"`
		} `json:"status"`
	} `json:"items"`
	Pagination struct {
		HasNextPage bool `json:"hasNextPage"`
	} `json:"pagination"`
}

func getListing(ctx context.Context, client *http.Client, url string) (*listing, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, fmt.Errorf("forming the request: %w", err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("no answer: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answered %s", resp.Status)
	}
	var l listing
	if err := json.NewDecoder(resp.Body).Decode(&l); err != nil {
		return nil, fmt.Errorf("reading its answer: %w", err)
	}
	return &l, nil
}
