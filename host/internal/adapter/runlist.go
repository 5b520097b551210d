package adapter

import (
	"context"
	"fmt"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/store"
)

// ListByThread returns a page of a thread's runs, oldest first.
func (s *Runs) ListByThread(ctx context.Context, threadID string, opts store.PageOptions) (store.RunPage, error) {
	const op = abi.OpRunsListByThread
	if err := checkKey("the thread's id", threadID); err != nil {
		return store.RunPage{}, fmt.Errorf("listing runs: %w", err)
	}
	limit, _ := bounds(store.ReadOptions{Limit: opts.Limit})
	req := abi.RunListRequest{ThreadID: threadID, Cursor: opts.Cursor, Limit: limit}
	return s.list(ctx, op, &req, func(c *cells, last, run *store.Run) {
		c.mustf(run.ThreadID == threadID, "is of another thread, %q", run.ThreadID)
		c.mustf(last == nil || older(last, run), "does not follow the one before it")
	})
}

// List returns a page of all runs, newest first.
func (s *Runs) List(ctx context.Context, opts store.RunListOptions) (store.RunPage, error) {
	const op = abi.OpRunsList
	if err := checkText("the thread's id", opts.ThreadID); err != nil {
		return store.RunPage{}, fmt.Errorf("listing runs: %w", err)
	}
	limit, _ := bounds(store.ReadOptions{Limit: opts.Limit})
	req := abi.RunListRequest{
		ThreadID: opts.ThreadID, Status: string(opts.Status), FinishedBefore: opts.FinishedBefore, Cursor: opts.Cursor, Limit: limit,
	}
	return s.list(ctx, op, &req, func(c *cells, last, run *store.Run) {
		c.mustf(opts.ThreadID == "" || run.ThreadID == opts.ThreadID, "is of another thread, %q", run.ThreadID)
		c.mustf(opts.Status == "" || run.Status == opts.Status, "is %q", run.Status)
		c.mustf(opts.FinishedBefore == nil || run.FinishedAt != nil && *run.FinishedAt < *opts.FinishedBefore, "did not end before that")
		c.mustf(last == nil || older(run, last), "does not follow the one before it")
	})
}

// older is the order of runs.
func older(a, b *store.Run) bool {
	return a.StartedAt < b.StartedAt || a.StartedAt == b.StartedAt && a.ID < b.ID
}

// list calls an operation that answers with a page of runs; check is asked about each.
func (s *Runs) list(ctx context.Context, op abi.Op, req *abi.RunListRequest, check func(c *cells, last, run *store.Run)) (store.RunPage, error) {
	rows, reply, err := s.page(ctx, op, req, req.Cursor, shape{abi.RunColumns, req.Limit})
	if err != nil {
		return store.RunPage{}, fmt.Errorf("listing runs: %w", mapError(err))
	}
	list := make([]store.Run, rows.Len())
	for i := range list {
		c := cells{rows: rows, row: i}
		list[i] = decodeRun(&c)
		var last *store.Run
		if i > 0 {
			last = &list[i-1]
		}
		check(&c, last, &list[i])
		if c.err != nil {
			return store.RunPage{}, fmt.Errorf("listing runs: %w", s.broken(op, c.err))
		}
	}
	return store.RunPage{Runs: list, Cursor: reply.Cursor, More: reply.More}, nil
}

// ListReclaimable returns a page of runs that wait for somebody.
func (s *Runs) ListReclaimable(ctx context.Context, opts store.ReclaimOptions) (store.ReclaimPage, error) {
	const op = abi.OpRunsListReclaimable
	if opts.Status == "" {
		opts.Status = store.RunRunning
	}
	if opts.TTL < 0 || opts.Status != store.RunRunning && opts.Status != store.RunInterrupted {
		return store.ReclaimPage{}, fmt.Errorf("listing runs: %w: nothing waits for %s that is %q", store.ErrInvalid, opts.TTL, opts.Status)
	}
	limit, _ := bounds(store.ReadOptions{Limit: opts.Limit})
	req := abi.ReclaimRequest{
		Status: string(opts.Status), TTLMS: uint64(opts.TTL.Milliseconds()), Now: opts.Now, Cursor: opts.Cursor, Limit: limit,
	}
	rows, reply, err := s.page(ctx, op, &req, opts.Cursor, shape{abi.ReclaimColumns, limit})
	if err == nil && (opts.Now != 0 && reply.Now != opts.Now || reply.Now == 0) {
		err = s.brokenf(op, "the plugin reckons from %d ms", reply.Now)
	}
	var list []store.ReclaimableRun
	if err == nil {
		list, err = decodeReclaimable(rows, &req, reply.Now)
		if err != nil {
			err = s.broken(op, err)
		}
	}
	if err != nil {
		return store.ReclaimPage{}, fmt.Errorf("listing runs: %w", mapError(err))
	}
	return store.ReclaimPage{Runs: list, Now: reply.Now, Cursor: reply.Cursor, More: reply.More}, nil
}

// decodeReclaimable copies a page of runs that are to wait.
func decodeReclaimable(rows capability.Rows, req *abi.ReclaimRequest, now int64) ([]store.ReclaimableRun, error) {
	list := make([]store.ReclaimableRun, rows.Len())
	for i := range list {
		c := cells{rows: rows, row: i}
		run := &list[i]
		run.Run, run.Since = decodeRun(&c), c.int(abi.ReclaimSince)
		c.mustf(string(run.Status) == req.Status, "is %q", run.Status)
		c.mustf(run.Status != store.RunRunning || run.DetachedSince != nil && *run.DetachedSince == run.Since, "was not detached at %d ms", run.Since)
		c.mustf(run.Since <= now-int64(req.TTLMS), "waits since %d ms, which is not long enough at %d ms", run.Since, now)
		if i > 0 {
			last := &list[i-1]
			c.mustf(last.Since < run.Since || last.Since == run.Since && last.ID < run.ID, "does not follow the one before it")
		}
		if c.err != nil {
			return nil, c.err
		}
	}
	return list, nil
}
