package main

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/sandbox"
)

// start runs a command that goes on without us, and prints its number.
func (d *driven) start(ctx context.Context, line string, opts sandbox.ExecOptions) error {
	opts.ResultBytes = resultBytes
	exec, err := d.Exec(ctx, line, opts)
	if err != nil {
		return err
	}
	if err := exec.Detach(ctx); err != nil && !errors.Is(err, sandbox.ErrClosed) {
		return err
	}
	seq := strconv.FormatInt(exec.Seq(), 10)
	if _, err := exec.Wait(); err != nil && !errors.Is(err, sandbox.ErrDetached) {
		return err // it could not be started
	} else if err == nil {
		d.a.out.notef("it has ended already (%s ledger show %.8s)", d.a.self(), d.ID())
	} else {
		d.a.out.notef("it goes on (%s exec --follow %s %.8s)", d.a.self(), seq, d.ID())
	}
	if d.a.out.json {
		return d.a.out.data(struct {
			Type      string `json:"type"`
			SandboxID string `json:"sandboxId"`
			Seq       int64  `json:"seq"`
		}{"started", d.ID(), exec.Seq()})
	}
	return d.a.out.printf("%s\n", seq)
}

// follow shows what a command prints that goes on without us. When ctx ends, it goes on.
func (d *driven) follow(ctx context.Context, seq int64) error {
	exec, err := d.Attach(context.WithoutCancel(ctx), seq, sandbox.AttachOptions{ResultBytes: resultBytes})
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = exec.Detach(context.WithoutCancel(ctx)) })() // Wait tells
	r := &runner{a: d.a, f: &runFlags{}, sb: d.Handle, began: time.Now()}
	result, err := r.show(ctx, exec, func(error) { _ = exec.Detach(context.WithoutCancel(ctx)) }) // Wait tells
	if errors.Is(err, sandbox.ErrDetached) && ctx.Err() != nil {
		d.a.out.notef("it goes on (%s exec --follow %d %.8s)", d.a.self(), seq, d.ID())
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	return r.ended(result, "exec "+strconv.FormatInt(seq, 10))
}

// detachedLine is one exec that goes on, or ended, without us.
type detachedLine struct {
	Seq        int64  `json:"seq"`
	Kind       string `json:"kind"`
	State      string `json:"state"` // running, ended, gone or unknown
	ExitCode   *int   `json:"exitCode,omitempty"`
	StartedAt  int64  `json:"startedAt"`
	DetachedAt int64  `json:"detachedAt"`
	Command    string `json:"command"`
}

func (a *app) listDetached(ctx context.Context, sb *sandbox.Handle) error {
	list, err := sb.Detached(ctx)
	if err != nil {
		return err
	}
	rows := make([][]string, 0, len(list))
	for _, d := range list {
		line := detachedLine{
			Seq: d.Seq, Kind: string(d.Kind), State: "running", Command: d.Command,
			StartedAt: d.StartedAt.UnixMilli(), DetachedAt: d.DetachedAt.UnixMilli(),
		}
		status, err := sb.DetachedStatus(ctx, d)
		switch {
		case errors.Is(err, opensandbox.ErrNotFound):
			line.State = stateGone
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			line.State = "unknown"
		case !status.Running:
			line.State, line.ExitCode = "ended", status.ExitCode
		}
		if a.out.json {
			if err := a.out.data(line); err != nil {
				return err
			}
			continue
		}
		code := "-"
		if line.ExitCode != nil {
			code = strconv.Itoa(*line.ExitCode)
		}
		rows = append(rows, []string{strconv.FormatInt(d.Seq, 10), line.Kind, line.State, code, clock(line.StartedAt), clock(line.DetachedAt), d.Command})
	}
	if a.out.json {
		return nil
	}
	return a.out.table([]string{"NUMBER", "KIND", "STATE", "EXIT", "STARTED", "DETACHED", "COMMAND"}, rows)
}
