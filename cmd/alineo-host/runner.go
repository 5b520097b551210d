package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/alineo-labs/alineo-host/cmd/alineo-host/internal/script"
	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/sandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

// maxRead bounds the file that a read step prints, in bytes.
const maxRead = 64 << 20

// resultBytes is how much of the output is kept besides what is shown as it comes.
const resultBytes = 64 << 10

// runner runs commands in one sandbox and shows what they print.
type runner struct {
	a       *app
	f       *runFlags
	sb      *sandbox.Handle
	opts    sandbox.ExecOptions // of its commands
	began   time.Time
	execs   int // that ran
	replays int // that were answered from the ledger
}

func newRunner(a *app, f *runFlags) (*runner, error) {
	env, err := parseEnv(f.env)
	if err != nil {
		return nil, err
	}
	r := &runner{a: a, f: f, began: time.Now(), opts: sandbox.ExecOptions{Cwd: f.cwd, Env: env, Timeout: f.timeout}}
	return r, nil
}

// command runs one command line; its exit code becomes the program's.
func (r *runner) command(ctx context.Context, line string) error {
	result, err := r.exec(ctx, line)
	if err != nil {
		return err
	}
	return r.ended(result, line)
}

// ended tells how a command ended; its exit code becomes the program's.
func (r *runner) ended(result *sandbox.Result, line string) error {
	if r.a.out.json {
		if err := r.a.out.data(resultLine{
			Type: "result", SandboxID: r.sb.ID(), Name: r.sb.Name(), Seq: result.Seq, ExitCode: result.ExitCode,
			Signal: result.Signal, TimedOut: result.TimedOut, Replayed: result.Replayed,
		}); err != nil {
			return err
		}
	}
	return ended(result, line)
}

// resultLine is what --json prints about the end of a command.
type resultLine struct {
	Type      string `json:"type"`
	SandboxID string `json:"sandboxId"`
	Name      string `json:"name"`
	Seq       int64  `json:"seq"`
	ExitCode  int    `json:"exitCode"`
	Signal    string `json:"signal,omitempty"`
	TimedOut  bool   `json:"timedOut,omitempty"`
	Replayed  bool   `json:"replayed,omitempty"`
}

// ended turns the end of a command into the end of the program.
func ended(result *sandbox.Result, line string) error {
	switch {
	case result.TimedOut:
		return &exitError{code: exitTimeout, err: fmt.Errorf("the command ran out of time (--timeout): %s", oneLine(line, 80))}
	case result.Signal != "":
		return &exitError{code: exitSignal, err: fmt.Errorf("the command was ended by a signal (%s): %s", result.Signal, oneLine(line, 80))}
	case result.ExitCode != 0:
		return &exitError{code: result.ExitCode}
	}
	return nil
}

// exec runs one command line and copies its output as it comes.
func (r *runner) exec(ctx context.Context, line string) (*sandbox.Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	opts := r.opts
	opts.ResultBytes = resultBytes
	exec, err := r.sb.Exec(ctx, line, opts)
	if err != nil {
		return nil, err
	}
	return r.show(ctx, exec, cancel)
}

// show copies a command's output as it comes, and waits for its end. stop is called when the output can't
// be written any more.
func (r *runner) show(ctx context.Context, exec *sandbox.Exec, stop context.CancelCauseFunc) (*sandbox.Result, error) {
	var copying sync.WaitGroup
	var mu sync.Mutex
	var unwritten atomic.Pointer[error] // also of a command that ended before it could be stopped
	failed := func(err error) {
		unwritten.CompareAndSwap(nil, &err)
		stop(err)
	}
	show := func(name string, dst io.Writer, src io.Reader) {
		copying.Go(func() {
			if r.a.out.json {
				dst = &chunkWriter{out: r.a.out, mu: &mu, stream: name}
			}
			// An error of the reader is Wait's error too; one of the writer ends the command.
			if _, err := io.Copy(failing{dst, failed}, src); err != nil {
				_, _ = io.Copy(io.Discard, src)
			}
		})
	}
	show("stdout", r.a.out.out, exec.Stdout())
	show("stderr", r.a.out.err, exec.Stderr())
	result, err := exec.Wait()
	copying.Wait()
	if cause := unwritten.Load(); cause != nil {
		return nil, *cause
	}
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
			return nil, cause
		}
		return nil, err
	}
	if result.Replayed {
		r.replays++
	} else {
		r.execs++
	}
	return result, nil
}

// failing ends the command when its output can't be written any more, such as to a closed pipe.
type failing struct {
	w      io.Writer
	failed func(error)
}

func (f failing) Write(p []byte) (int, error) {
	n, err := f.w.Write(p)
	if err != nil {
		f.failed(fmt.Errorf("writing output: %w", err))
	}
	return n, err
}

// chunkWriter prints output as JSON lines; a character that is split over two writes is held back.
type chunkWriter struct {
	out    *output
	mu     *sync.Mutex // of both streams
	stream string
	rest   []byte
}

func (w *chunkWriter) Write(p []byte) (int, error) {
	text := slices.Concat(w.rest, p)
	keep := 0
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if tail := text[len(text)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				keep = n
			}
			break
		}
	}
	w.rest = append([]byte(nil), text[len(text)-keep:]...)
	text = text[:len(text)-keep]
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(p), w.out.data(struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}{w.stream, string(text)})
}

// steps runs a script. Those that the ledger has are answered from there: done holds them.
func (r *runner) steps(ctx context.Context, s *script.Script, done []script.Done) error {
	for i, step := range s.Steps {
		var recorded *script.Done
		if i < len(done) {
			recorded = &done[i]
		}
		mark := "▸"
		if recorded != nil {
			mark = "✓ (from the ledger)"
		}
		r.a.out.notef("%s %s", mark, step)
		if err := r.step(ctx, step, recorded); err != nil {
			var code *exitError
			if errors.As(err, &code) && code.err == nil {
				code.err = fmt.Errorf("%s:%d: the step exited with code %d", s.File, step.Line, code.code)
				return code
			}
			return fmt.Errorf("%s:%d: %w", s.File, step.Line, err)
		}
	}
	return nil
}

func (r *runner) step(ctx context.Context, step script.Step, recorded *script.Done) error {
	switch step.Kind {
	case script.Exec:
		return r.command(ctx, step.Text)
	case script.Checkpoint:
		if recorded != nil {
			return nil
		}
		_, err := r.sb.Checkpoint(ctx, step.Text)
		return err
	case script.Write:
		if recorded != nil {
			return nil // it is in the checkpoint
		}
		if err := r.sb.WriteFile(ctx, step.Path, step.Data, 0); err != nil {
			return err
		}
		return r.record(ctx, step, step.Data)
	case script.Read:
		return r.read(ctx, step, recorded)
	}
	return fmt.Errorf("unknown step %q", step.Kind)
}

func (r *runner) read(ctx context.Context, step script.Step, recorded *script.Done) error {
	if recorded != nil {
		if recorded.Record.Text == nil {
			r.a.out.notef("  (%s, which the ledger does not keep)", count(recorded.Record.Bytes, "byte"))
			return nil
		}
		return r.print([]byte(*recorded.Record.Text))
	}
	data, err := r.sb.ReadFile(ctx, step.Path)
	if err != nil {
		return err
	}
	if len(data) > maxRead {
		return fmt.Errorf("%s has %d bytes; a read step prints at most %d", step.Path, len(data), maxRead)
	}
	if err := r.record(ctx, step, data); err != nil {
		return err
	}
	return r.print(data)
}

func (r *runner) print(data []byte) error {
	if r.a.out.json {
		return r.a.out.data(struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}{"file", string(data)})
	}
	if _, err := r.a.out.out.Write(data); err != nil {
		return fmt.Errorf("writing output: %w", err)
	}
	return nil
}

// record appends the event of a write or read step.
func (r *runner) record(ctx context.Context, step script.Step, data []byte) error {
	return r.sb.Emit(ctx, script.EventStep, script.NewRecord(step, data))
}

// finish closes the sandbox, unless it is to be kept, and says what there is to see.
func (r *runner) finish(ctx context.Context, h *host.Host, err error) error {
	if r.f.keep && err == nil {
		r.a.out.notef("sandbox %s goes on running (%s sandboxes delete --keep-ledger %.8s stops it)", r.sb.ID(), r.a.self(), r.sb.ID())
		return nil
	}
	if closeErr := closeSandbox(ctx, r.sb); closeErr != nil {
		err = errors.Join(err, fmt.Errorf("closing the sandbox: %w", closeErr))
	}
	if r.f.script != "" {
		r.summary(ctx, h, err)
	}
	return err
}

// summary says, at the end of a script, what was done and what to try next.
func (r *runner) summary(ctx context.Context, h *host.Host, err error) {
	id := r.sb.ID()
	took := time.Since(r.began).Round(time.Millisecond)
	end := "done"
	switch {
	case ctx.Err() != nil:
		end = "stopped"
	case err != nil:
		end = "failed"
	}
	ctx = context.WithoutCancel(ctx)
	r.a.out.notef("\n%s: sandbox %s (%s), %s run, %d answered from the ledger, %s", end, id, r.sb.Name(), count(r.execs, "command"), r.replays, took)
	details, findErr := h.Store().FindSandbox(ctx, id)
	if findErr != nil {
		return
	}
	r.a.out.notef("ledger: %s, %s, %s", h.LedgerText(), count(details.ExecCount, "exec"), details.Status)
	r.a.out.notef("\ntry next:")
	r.a.out.notef("  %s ledger show %.8s", r.a.self(), id)
	r.a.out.notef("  %s sandboxes show %.8s", r.a.self(), id)
	// Not worth proposing when it could only fail.
	if resumable(ctx, h.Store(), r.sb.Key()) {
		r.a.out.notef("  %s resume %.8s --script %s", r.a.self(), id, quote(r.f.script))
	}
}

// resumable tells whether a sandbox, or one that it was resumed from, has a checkpoint.
func resumable(ctx context.Context, st store.Ledger, key store.Key) bool {
	lineage, _, err := ledger.Lineage(ctx, st, key)
	if err != nil {
		return false
	}
	_, err = ledger.SelectCheckpoint(ctx, st, lineage, "")
	return err == nil
}
