package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

// A background command and a program on a terminal outlive their connections. Detaching leaves one
// running on purpose, and records where to go on; attaching goes on under the same seq, in this process
// or in another. Neither ever runs anything again.

var errDetaching = errors.New("it is being detached")

// detachedPayload is exec.detached's.
type detachedPayload struct {
	Seq int64 `json:"seq"`
	// A background command.
	CommandID string                `json:"commandId,omitempty"`
	At        *opensandbox.Position `json:"position,omitempty"` // behind what is recorded
	// Before is a position from which on Known bytes are recorded: the beginning of a value may be in them.
	Before *opensandbox.Position `json:"before,omitempty"`
	Known  int64                 `json:"known,omitempty"`
	// A program on a terminal.
	PTY    string `json:"ptyId,omitempty"`
	Offset int64  `json:"offset,omitempty"` // bytes of output that are recorded
	Mark   string `json:"mark,omitempty"`   // see opensandbox.PTYRequest
	// Begun is how many bytes of a value the input may end with, which are recorded as a value.
	Begun int `json:"begun,omitempty"`
}

// Detached is an exec that was left running.
type Detached struct {
	Seq        int64
	Kind       ledger.Kind
	Command    string
	StartedAt  time.Time
	DetachedAt time.Time // last

	where   detachedPayload
	sitting sitting // of a program on a terminal
}

// Detach leaves the command running in the sandbox and stops following it: Wait and the readers of output
// then end with ErrDetached, and [Handle.Attach] goes on, or [Handle.AttachTerminal] for a program on a
// terminal. Only those and commands with ExecOptions.Background can be detached; others are ErrInvalid. It
// returns when the ledger has it. When ctx ends first, it goes on all the same. It is idempotent.
func (x *Exec) Detach(ctx context.Context) error {
	if !x.work.detachable {
		return x.fail(fmt.Errorf("%w: only a command in the background and a terminal can be detached", ErrInvalid))
	}
	select {
	case <-x.begun:
	case <-x.done:
	case <-ctx.Done():
		return x.fail(context.Cause(ctx))
	}
	x.cancel(errDetaching)
	select {
	case <-x.done:
	case <-ctx.Done():
		return x.fail(context.Cause(ctx))
	}
	switch {
	case errors.Is(x.err, ErrDetached):
		return nil
	case x.err == nil || x.result != nil: // also one that the ledger answered
		return x.fail(fmt.Errorf("it has ended: %w", ErrClosed))
	}
	return x.err
}

// detaching says that the exec is to be left running.
func detaching(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errDetaching) }

// detach records where to go on with the exec.
func (x *Exec) detach(ctx context.Context, where *detachedPayload) error {
	where.Seq = x.seq
	payload, err := encode(where)
	if err != nil {
		return err
	}
	event := ledger.Event{Step: x.seq, Name: store.EventExecDetached, Payload: payload}
	if err := x.h.append(context.WithoutCancel(ctx), event); err != nil {
		return fmt.Errorf("it goes on in the sandbox, but where is not recorded: %w", err)
	}
	return ErrDetached
}

// Detached lists the execs that were left running and have not been seen to end, by their seq. Whether
// they still run is what [Handle.DetachedStatus] asks the sandbox.
func (h *Handle) Detached(ctx context.Context) ([]Detached, error) {
	const op = "listing detached execs"
	if err := h.open(); err != nil {
		return nil, h.fail(op, err)
	}
	open := map[int64]*Detached{}
	for e, err := range ledger.ReadSandbox(ctx, h.c.store, h.Key()) {
		if err != nil {
			return nil, h.fail(op, err)
		}
		noteDetached(open, &e)
	}
	var list []Detached
	for _, d := range open {
		if !d.DetachedAt.IsZero() {
			list = append(list, *d)
		}
	}
	slices.SortFunc(list, func(a, b Detached) int { return int(a.Seq - b.Seq) })
	return list, nil
}

// noteDetached takes from an entry what it says about execs that may be detached.
func noteDetached(open map[int64]*Detached, e *store.Entry) {
	switch store.CurrentName(e.Event) {
	case store.EventExecStarted:
		var started struct {
			Command     string `json:"cmd"`
			Interactive bool   `json:"interactive"`
		}
		if json.Unmarshal(e.Payload, &started) != nil {
			return // whatever it is, it was not detached by us
		}
		d := &Detached{Seq: e.StepIndex, Kind: ledger.KindExec, Command: started.Command, StartedAt: time.UnixMilli(e.TS)}
		if started.Interactive {
			d.Kind = ledger.KindInteractive
		}
		open[e.StepIndex] = d
	case store.EventExecDetached:
		d := open[e.StepIndex]
		if d == nil {
			return
		}
		var where detachedPayload
		if json.Unmarshal(e.Payload, &where) != nil || where.CommandID == "" && where.PTY == "" || where.Offset < 0 || where.Known < 0 || where.Begun < 0 {
			return
		}
		d.where, d.DetachedAt, d.sitting.begun = where, time.UnixMilli(e.TS), where.Begun
	case store.EventExecOutput:
		if d := open[e.StepIndex]; d != nil && d.Kind == ledger.KindInteractive {
			d.noteTyped(e.Payload)
		}
	case store.EventExecCompleted:
		delete(open, e.StepIndex)
	}
}

// noteTyped takes what was typed from an event of output.
func (d *Detached) noteTyped(payload []byte) {
	if !bytes.Contains(payload, []byte(`"`+typeStdin+`"`)) {
		return
	}
	var typed struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(payload, &typed) == nil && typed.Type == typeStdin {
		d.sitting.typed(typed.Text)
	}
}

// DetachedStatus is what a sandbox says about an exec that was left running.
type DetachedStatus struct {
	Running bool
	// ExitCode is what it ended with; nil while it runs, and where the sandbox does not know, as with a
	// program on a terminal that was ended from outside.
	ExitCode *int
}

// DetachedStatus asks the sandbox about an exec that was left running. It changes nothing. Where the
// sandbox has forgotten it, it is opensandbox.ErrNotFound.
func (h *Handle) DetachedStatus(ctx context.Context, of Detached) (DetachedStatus, error) {
	const op = "asking about detached exec"
	if err := h.ready(); err != nil {
		return DetachedStatus{}, h.fail(op, err)
	}
	if of.where.PTY != "" {
		status, err := h.execd.PTYStatus(ctx, of.where.PTY)
		if err != nil {
			return DetachedStatus{}, h.fail(op, err)
		}
		found := DetachedStatus{Running: status.Running}
		if !status.Running && of.where.Mark != "" {
			code, err := h.execd.PTYExitCode(ctx, of.where.Mark)
			if err == nil {
				found.ExitCode = &code
			} else if !errors.Is(err, opensandbox.ErrNotFound) {
				return found, h.fail(op, err)
			}
		}
		return found, nil
	}
	status, err := h.execd.Status(ctx, of.where.CommandID)
	if err != nil {
		return DetachedStatus{}, h.fail(op, err)
	}
	return DetachedStatus{Running: status.Running, ExitCode: status.ExitCode}, nil
}

// AttachOptions says how to go on with a command.
type AttachOptions struct {
	Strict      bool // as in ExecOptions
	Events      bool
	ResultBytes int
}

// Attach goes on with a command that was left running, under its seq: what it has printed since then comes
// first, nothing is run, and its end is recorded like any. Its output from before is in the ledger, and
// neither in the readers' nor in the Result. One that is not detached is store.ErrNotFound. When ctx
// ends, the command is interrupted, unless it was detached again.
func (h *Handle) Attach(ctx context.Context, seq int64, opts AttachOptions) (*Exec, error) {
	d, err := h.detached(ctx, seq, ledger.KindExec)
	if err != nil {
		return nil, h.fail(opAttach, err)
	}
	return h.rejoin(ctx, d, ExecOptions{Background: true, Strict: opts.Strict, Events: opts.Events, ResultBytes: opts.ResultBytes},
		func(x *Exec) {
			x.work.stream = func(ctx context.Context, x *Exec) (ending, error) {
				return followFrom(ctx, x, d.where.CommandID, d.where.trail(x.h.c.redacts()))
			}
		})
}

// AttachTerminal is Attach for a program on a terminal. Of the options, those about the command count for
// nothing. Output that the sandbox did not keep is missing, and the Result says so. A program that was
// ended from outside meanwhile is ErrStreamLost: the sandbox tells that only to whoever is attached.
func (h *Handle) AttachTerminal(ctx context.Context, seq int64, opts TerminalOptions) (*Terminal, error) {
	if err := opts.check(); err != nil {
		return nil, h.fail(opAttach, err)
	}
	d, err := h.detached(ctx, seq, ledger.KindInteractive)
	if err != nil {
		return nil, h.fail(opAttach, err)
	}
	opts.TakeOver = d.where.PTY
	t := newTerminal(opts)
	t.mark, t.since, t.sitting = d.where.Mark, d.where.Offset, d.sitting
	_, err = h.rejoin(ctx, d, ExecOptions{Strict: opts.Strict, Events: opts.Events, ResultBytes: opts.ResultBytes}, func(x *Exec) {
		t.Exec, x.work.stream = x, t.run
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

const opAttach = "attaching"

// detached finds an exec that was left running.
func (h *Handle) detached(ctx context.Context, seq int64, kind ledger.Kind) (*Detached, error) {
	if err := h.drives(); err != nil {
		return nil, err
	}
	list, err := h.Detached(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list, func(d Detached) bool { return d.Seq == seq })
	switch {
	case i < 0:
		return nil, fmt.Errorf("exec %d was not left running, or has ended: %w", seq, store.ErrNotFound)
	case list[i].Kind != kind:
		return nil, fmt.Errorf("%w: exec %d is of the kind %s, not %s", ErrInvalid, seq, list[i].Kind, kind)
	}
	return &list[i], nil
}

// rejoin makes an exec that goes on with one that was left running.
func (h *Handle) rejoin(ctx context.Context, d *Detached, opts ExecOptions, adjust func(*Exec)) (*Exec, error) {
	if err := h.ready(); err != nil {
		return nil, h.fail(opAttach, err)
	}
	x := h.newExec(d.Seq, opts, work{
		spec: ledger.ExecSpec{Kind: d.Kind, Command: d.Command}, rejoined: true, detachable: true,
	})
	adjust(x)
	ctx, x.span = h.startSpan(ctx, "sandbox.exec")
	x.describe()
	if err := x.enter(ctx, nil); err != nil {
		x.span.End(failureWord(err))
		return nil, x.fail(err)
	}
	return x, nil
}
