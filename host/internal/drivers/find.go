package drivers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/alineo-labs/alineo-host/host/internal/engine/unixsock"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/sandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

const (
	// answerWithin is how long a driver may take to say that it is there.
	answerWithin = 5 * time.Second
	// freshFor is how long a socket may be there before anybody listens on it.
	freshFor = 10 * time.Second
)

// Find returns the driver of a sandbox, which has said that it is there.
func (d *Drivers) Find(ctx context.Context, key store.Key, past uint64) (sandbox.Ask, uint64, error) {
	all, err := d.places()
	if err != nil {
		return nil, 0, err
	}
	for _, p := range all {
		if p.sandbox != sandboxOf(key) || p.epoch <= past || !d.listens(ctx, p) {
			continue
		}
		a := d.asker(p)
		here, err := a.here(ctx)
		if err != nil {
			return nil, 0, err
		}
		if here {
			return a.ask, p.epoch, nil
		}
	}
	return nil, 0, ctx.Err()
}

// listens reports whether there is somebody behind a socket, and removes what was left of one who isn't.
func (d *Drivers) listens(ctx context.Context, p place) bool {
	path := filepath.Join(d.dir, p.name())
	conn, err := unixsock.Dial(ctx, path)
	if err == nil {
		_ = conn.Close()
		return true
	}
	if info, statErr := os.Stat(path); errors.Is(err, syscall.ECONNREFUSED) && statErr == nil && time.Since(info.ModTime()) > freshFor {
		_ = os.Remove(path) // its name will not come again
	}
	return !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, os.ErrNotExist)
}

// asker asks one driver.
type asker struct {
	pid     int
	within  time.Duration
	http    *http.Client
	listens func(ctx context.Context) bool
}

func (d *Drivers) asker(p place) *asker {
	socket := filepath.Join(d.dir, p.name())
	return &asker{p.pid, d.within, &http.Client{Transport: &http.Transport{
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return unixsock.Dial(ctx, socket) },
		DisableKeepAlives: true,
	}}, func(ctx context.Context) bool { return d.listens(ctx, p) }}
}

// here makes sure that the driver answers before it is told anything: one that is stopped would do what
// it was asked for when it goes on, however late. False is one that has gone meanwhile, and not one that
// only did not answer this time: that would be taken over although it is at work.
func (a *asker) here(ctx context.Context) (bool, error) {
	soon, cancel := context.WithTimeout(ctx, a.within)
	defer cancel()
	for {
		resp, err := a.do(soon, http.MethodGet, routeHere, nil)
		switch {
		case err == nil:
			_ = resp.Body.Close()
			return true, nil
		case ctx.Err() != nil:
			return false, context.Cause(ctx)
		case errors.Is(err, errOther):
			return false, err
		case soon.Err() == nil && !a.listens(soon):
			return false, nil
		case !wait(soon):
			return false, fmt.Errorf("process %d drives the sandbox and does not answer (let it go on, or end it): %w", a.pid, context.DeadlineExceeded)
		}
	}
}

// gone reports whether nobody listens any more, or soon: what a process that ends had open is closed one after
// the other.
func (a *asker) gone(ctx context.Context) bool {
	const enough = time.Second
	soon, cancel := context.WithTimeout(ctx, enough)
	defer cancel()
	for a.listens(soon) {
		if !wait(soon) {
			return false
		}
	}
	return true
}

// wait waits for a moment; false when ctx has ended.
func wait(ctx context.Context) bool {
	const moment = 20 * time.Millisecond
	select {
	case <-time.After(moment):
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// ask has the driver make a change. It says that it begins before it does anything.
func (a *asker) ask(ctx context.Context, change sandbox.Change) (*opensandbox.PolicyStatus, error) {
	body, err := json.Marshal(requestOf(change))
	if err != nil {
		return nil, fmt.Errorf("asking process %d: %w", a.pid, err)
	}
	resp, err := a.do(ctx, http.MethodPost, routeChange, body)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, errOther):
		return nil, err
	case err != nil && a.gone(ctx):
		return nil, fmt.Errorf("%w: %w", sandbox.ErrDriverGone, err)
	case err != nil:
		return nil, fmt.Errorf("%w: the sandbox's driver did not say that it begins, so it did nothing; ask again: %w", store.ErrUnavailable, err)
	}
	defer func() { _ = resp.Body.Close() }()
	var told answer
	err = json.NewDecoder(io.LimitReader(resp.Body, maxMessage)).Decode(&told)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fmt.Errorf("%w: process %d, which drives the sandbox, ended before it said whether it was done; look, and ask again: %w",
			store.ErrUnknownOutcome, a.pid, err)
	}
	return told.Status, told.failure()
}

// errOther is who answers in another way.
var errOther = errors.New("is it of another version?")

// do sends a request. Its answer is one that all is well so far.
func (a *asker) do(ctx context.Context, method, route string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://driver"+route, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("asking process %d: %w", a.pid, err)
	}
	resp, err := a.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("asking process %d: %w", a.pid, err)
	}
	if resp.StatusCode != http.StatusOK {
		defer func() { _ = resp.Body.Close() }()
		const enough = 1 << 10
		said, _ := io.ReadAll(io.LimitReader(resp.Body, enough)) // as much of it as there is
		return nil, fmt.Errorf("asking process %d, which drives the sandbox: it answered %s (%s): %w", a.pid, resp.Status, bytes.TrimSpace(said), errOther)
	}
	return resp, nil
}
