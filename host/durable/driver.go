package durable

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/alineo-labs/alineo-host/host/internal/journal"
	"github.com/alineo-labs/alineo-host/host/store"
)

// Bounds of what a driver does at a run's end.
const (
	killWithin   = 15 * time.Second
	maxErrorText = 1000 // bytes of standard error in a run's error
	lingerAtMost = time.Minute
)

// driver writes one run.
type driver struct {
	r     *Runs
	run   store.Run
	epoch uint64
	lock  *lease
	w     *logWriter

	ctx    context.Context //nolint:containedctx // of the drive; it ends with the reason why it is over
	cancel context.CancelCauseFunc
	done   chan struct{}
	// launched is closed when the command is known to have been started.
	launched chan struct{}

	machine  Machine          // nil until it was reached
	journal  *journal.Journal // nil as long as machine is
	accepted accepted

	ended   *Ended // how the run ended, when this drive wrote that
	trouble error  // why it did not get there, or what went wrong after it
}

func (r *Runs) newDriver(run store.Run, epoch uint64, lock *lease) *driver {
	run.DriverEpoch = &epoch
	d := &driver{
		r: r, run: run, epoch: epoch, lock: lock, done: make(chan struct{}), launched: make(chan struct{}),
		w: &logWriter{r: r, runID: run.ID, epoch: epoch},
	}
	d.ctx, d.cancel = context.WithCancelCause(lock.ctx)
	return d
}

// failure is an end that the driver found out about, with its code.
type failure struct {
	code string
	err  error
}

func (f *failure) Error() string { return f.err.Error() }

func (f *failure) Unwrap() error { return f.err }

func failed(code string, err error) error { return &failure{code, err} }

// first drives a run from its beginning.
func (d *driver) first(ctx context.Context, opts StartOptions) {
	d.watched(ctx, func(ctx context.Context) (int, error) {
		if err := d.w.fence(ctx); err != nil {
			return 0, err
		}
		d.accepted.Destroy = opts.Spec.DestroyOnComplete || opts.Spec.Reuse == ReuseNone || d.r.opts.Keep == KeepNothing
		told := d.accepted
		if d.r.opts.Keep == KeepEverything {
			told.Command = opts.Command
		}
		if err := d.w.put(ctx, []store.LogEvent{{Kind: EventAccepted, Data: encode(told)}}); err != nil {
			return 0, err
		}
		if err := d.launch(ctx, opts); err != nil {
			return 0, err
		}
		close(d.launched)
		return d.follow(ctx, 0)
	})
}

// launch starts the command in the thread's sandbox.
func (d *driver) launch(ctx context.Context, opts StartOptions) error {
	got, err := d.r.ensure(ctx, deref(d.run.SandboxKey), d.run.ThreadID, &d.run.ID, opts.Spec)
	if err != nil {
		return failed(CodeSandbox, err)
	}
	if err := d.reached(ctx, got.Machine); err != nil {
		return err
	}
	if err := d.machine.WriteFile(ctx, d.journal.Key(), []byte(d.journal.Nonce()), 0o600); err != nil {
		return failed(CodeSandbox, fmt.Errorf("preparing the journal: %w", err))
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	err = d.machine.Spawn(ctx, d.journal.Start(opts.Command, opts.Shell), SpawnOptions{Cwd: opts.Cwd, Env: opts.Env})
	if err == nil || ctx.Err() != nil {
		return context.Cause(ctx)
	}
	// It may have been started all the same: then there will be a journal. A refusal is certain at once.
	if errors.Is(err, ErrRefused) {
		return d.notStarted(ctx, fmt.Errorf("starting the command: %w", err))
	}
	if waitErr := d.awaitJournal(ctx); waitErr != nil {
		return failed(CodeNotStarted, fmt.Errorf("starting the command: %w", errors.Join(err, waitErr)))
	}
	return nil
}

// notStarted ends a run whose command has not begun, and sees to it that it never does: also when a host that was
// paused goes on. It returns nil for a command that has begun in the last moment.
func (d *driver) notStarted(ctx context.Context, why error) error {
	revoked, err := d.journal.Revoke(ctx)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, ErrGone):
		return failed(CodeSandboxGone, err)
	case err != nil:
		return err
	}
	if !revoked {
		if there, err := d.journal.Exists(ctx); err != nil || there {
			return err
		}
	}
	return failed(CodeNotStarted, why)
}

// takeOver drives a run that another driver began.
func (d *driver) takeOver(ctx context.Context) {
	d.watched(ctx, func(ctx context.Context) (int, error) {
		if err := d.prepare(ctx); err != nil {
			return 0, err
		}
		if err := d.find(ctx); err != nil {
			return 0, err
		}
		if err := d.awaitJournal(ctx); err != nil {
			return 0, err
		}
		close(d.launched)
		from, err := d.position(ctx)
		if err != nil {
			return 0, err
		}
		return d.follow(ctx, from)
	})
}

// prepare shuts the drivers before this one out, and reads what the first one left.
func (d *driver) prepare(ctx context.Context) error {
	if err := d.w.fence(ctx); err != nil {
		return err
	}
	if err := d.r.quiesce(ctx, d.run.ID); err != nil {
		return err
	}
	page, err := d.r.stores.Log.Read(ctx, d.run.ID, store.LogReadOptions{Limit: 1})
	if err != nil {
		return fmt.Errorf("reading the log: %w", err)
	}
	if len(page.Events) == 0 && page.Tail == 0 {
		// Its driver died before it wrote anything, or kept the log to itself. Offsets are as they were.
		return d.w.put(ctx, []store.LogEvent{{Kind: EventAccepted, Data: encode(d.accepted)}})
	}
	if len(page.Events) > 0 && page.Events[0].Kind == EventAccepted {
		if err := decode(page.Events[0].Data, &d.accepted); err != nil {
			return fmt.Errorf("reading the log: %w", err)
		}
	}
	return nil
}

// position is where in the journal the log ends, as far as that is to be known without reading the journal.
func (d *driver) position(ctx context.Context) (int64, error) {
	if d.r.opts.Keep == KeepEverything {
		return 0, nil
	}
	return d.w.skip(ctx)
}

// find reaches the run's sandbox.
func (d *driver) find(ctx context.Context) error {
	if d.machine != nil {
		return nil
	}
	machine, err := d.r.machineOf(ctx, d.run)
	if errors.Is(err, ErrGone) {
		return failed(CodeSandboxGone, err)
	}
	if err != nil {
		return err
	}
	return d.reached(ctx, machine)
}

// reached takes the run's sandbox with the journal in it, or neither.
func (d *driver) reached(ctx context.Context, machine Machine) error {
	j, err := d.r.journal(ctx, machine, d.run.ID)
	if err != nil {
		return err
	}
	d.machine, d.journal = machine, j
	return nil
}

// machineOf reaches the sandbox of a run; one that isn't there or isn't known any more is ErrGone.
func (r *Runs) machineOf(ctx context.Context, run store.Run) (Machine, error) {
	if run.SandboxKey == nil {
		return nil, fmt.Errorf("run %q names no sandbox: %w", run.ID, ErrGone)
	}
	record, found, err := r.stores.Instances.Get(ctx, *run.SandboxKey)
	switch {
	case err != nil:
		return nil, fmt.Errorf("finding the sandbox of run %q: %w", run.ID, err)
	case !found:
		return nil, fmt.Errorf("run %q has no sandbox: %w", run.ID, ErrGone)
	case record.Provider != r.opts.Machines.Provider():
		return nil, fmt.Errorf("the sandbox of run %q is of provider %q, not %q", run.ID, record.Provider, r.opts.Machines.Provider())
	}
	return r.opts.Machines.Open(ctx, record.ProviderSandboxID)
}

// awaitJournal waits until the journal is there.
func (d *driver) awaitJournal(ctx context.Context) error {
	const every = 100 * time.Millisecond
	ends := time.Now().Add(d.r.opts.AttachWait)
	for {
		there, err := d.journal.Exists(ctx)
		switch {
		case there:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, ErrGone):
			return failed(CodeSandboxGone, err)
		case time.Now().After(ends):
			return d.notStarted(ctx, errors.Join(fmt.Errorf("no journal appeared within %s", d.r.opts.AttachWait), err))
		}
		if err := pause(ctx, every); err != nil {
			return err
		}
	}
}

// watched does the work of a drive under a watch of the record, and ends the run accordingly.
func (d *driver) watched(ctx context.Context, work func(context.Context) (int, error)) {
	ctx, stop := context.WithCancel(ctx)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		d.watch(ctx)
	}()
	code, err := work(ctx)
	stop()
	<-stopped
	d.conclude(code, err)
}

// watch looks at the record until ctx ends: for a request to end the run, and for another driver.
func (d *driver) watch(ctx context.Context) {
	const keepAlive = 20 * time.Second
	alive := time.Now()
	for pause(ctx, d.r.opts.CancelPoll) == nil {
		run, found, err := d.r.stores.Runs.Get(ctx, d.run.ID)
		switch {
		case err != nil:
			d.r.log.Debug("watching a run", "run", d.run.ID, "err", err)
		case !found, run.Status.Terminal(), epochOf(run) > d.epoch:
			d.cancel(ErrSuperseded)
		case isTrue(run.CancelRequested):
			d.cancel(errCanceled)
		}
		if time.Since(alive) > keepAlive {
			alive = time.Now()
			d.keepAlive(ctx)
		}
	}
}

func (d *driver) keepAlive(ctx context.Context) {
	machine, err := d.r.machineOf(ctx, d.run)
	if err == nil {
		err = machine.KeepAlive(ctx)
	}
	if err != nil && ctx.Err() == nil {
		d.r.log.Debug("a sandbox's life could not be prolonged", "run", d.run.ID, "err", err)
	}
}

// conclude ends the run as the drive ended, or lets go of it.
func (d *driver) conclude(code int, err error) {
	ctx := d.lock.ctx // the drive's own has ended, when somebody wanted that
	cause := context.Cause(d.ctx)
	var ended Ended
	whole := false
	var fault *failure
	if d.r.opts.Keep == KeepNothing && cause != nil {
		// Nobody else could go on with it.
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), destroyWithin)
		defer cancel()
		cause = errCanceled
	}
	switch {
	case errors.Is(err, ErrSuperseded), errors.Is(cause, ErrSuperseded):
		d.r.log.Info("another driver has the run", "run", d.run.ID, "epoch", d.epoch)
		return
	case err == nil:
		ended, whole = d.exited(ctx, code), true
	case errors.Is(err, errAdopted):
		ended = *d.w.ended
	case errors.Is(cause, errCanceled):
		ended = d.abort(ctx, CodeCanceled, errCanceled)
	case errors.Is(cause, errExpired):
		ended = d.abort(ctx, CodeExpired, errExpired)
	case cause != nil:
		d.r.log.Info("let go of a run", "run", d.run.ID, "reason", cause)
		return
	case errors.As(err, &fault):
		ended = d.failing(fault.code, err)
	case errors.Is(err, ErrDiverged):
		ended = d.failing(CodeDiverged, err)
	case errors.Is(err, store.ErrInvalid):
		ended = d.failing(CodeStore, err)
	default:
		// Something that may be over soon: whoever takes the run over will see.
		d.trouble = err
		d.r.log.Error("a run can't be driven any further", "run", d.run.ID, "err", err)
		return
	}
	if err := d.finish(ctx, ended, whole); err != nil {
		d.trouble = err
		d.r.log.Error("a run's end could not be written down; whoever takes it over will", "run", d.run.ID, "err", err)
	}
}

// exited is the end of a command that came to its end.
func (d *driver) exited(ctx context.Context, code int) Ended {
	ended := Ended{Status: store.RunCompleted, ExitCode: &code}
	if code == 0 {
		return ended
	}
	ended.Status = store.RunFailed
	text := fmt.Sprintf("the command ended with exit code %d", code)
	if d.r.opts.Keep == KeepEverything {
		tail, err := d.journal.Stderr(ctx)
		if err != nil {
			d.r.log.Debug("the standard error of a run could not be read", "run", d.run.ID, "err", err)
		}
		if said := lastBytes(string(tail), maxErrorText); said != "" {
			text += ": " + said
		}
	}
	ended.Error = &store.RunError{Message: text, Code: CodeExit}
	return ended
}

// lastBytes is the end of a text, without blanks around it and without half a character.
func lastBytes(s string, n int) string {
	s = strings.TrimSpace(s)
	if len(s) > n {
		s = s[len(s)-n:]
		for len(s) > 0 && !utf8.RuneStart(s[0]) {
			s = s[1:]
		}
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
}

// failing is the end of a command that could not come to its end. An error may have what was typed in it, such as a
// path: where that is not kept, the code has to do.
func (d *driver) failing(code string, err error) Ended {
	message := err.Error()
	if d.r.opts.Keep == KeepSandbox {
		message = "the run ended as " + code
	}
	return Ended{Status: store.RunFailed, Error: &store.RunError{Message: message, Code: code}}
}

// abort ends the command, as far as it is to be reached.
func (d *driver) abort(ctx context.Context, code string, cause error) Ended {
	ctx, cancel := context.WithTimeout(ctx, killWithin)
	defer cancel()
	err := d.find(ctx)
	if err == nil {
		err = d.journal.Kill(ctx)
	}
	if err != nil {
		d.r.log.Debug("the command of a run that is aborted could not be ended; its sandbox will be", "run", d.run.ID, "err", err)
	}
	return Ended{Status: store.RunAborted, Error: &store.RunError{Message: cause.Error(), Code: code}}
}

// finish writes down how a run ended: in the log, then in the record, and closes the log. A driver that was
// superseded writes nothing.
func (d *driver) finish(ctx context.Context, ended Ended, whole bool) error {
	ended, err := d.w.end(ctx, ended, whole)
	if errors.Is(err, ErrDiverged) {
		ended, err = d.w.end(ctx, d.failing(CodeDiverged, err), false)
	}
	if err != nil {
		return err
	}
	patch := store.RunPatch{
		Set: store.RunFields{Status: &ended.Status, Error: ended.Error}, Now: []store.RunField{store.FieldFinishedAt},
		Clear: []store.RunField{store.FieldCancelRequested},
	}
	var applied bool
	err = d.w.retry(ctx, func() (err error) {
		applied, err = d.r.patchIf(ctx, d.run, patch)
		return err
	})
	if err != nil {
		return fmt.Errorf("recording it: %w", err)
	}
	if !applied {
		// Either another driver has claimed it, or an answer was lost and it was written the first time.
		run, err := d.r.Get(ctx, d.run.ID)
		if err != nil || epochOf(run) != d.epoch || run.Status != ended.Status {
			return errors.Join(ErrSuperseded, err)
		}
	}
	d.ended = &ended
	if err := d.w.retry(ctx, func() error { return d.r.stores.Log.Close(ctx, d.run.ID) }); err != nil {
		d.r.log.Warn("a log could not be closed; whoever reads it to its end will", "run", d.run.ID, "err", err)
	}
	d.r.wake(d.run.ID)
	return d.tidy(ctx, ended)
}

// linger waits, a while at most, until those who view the run here have read from its sandbox what they want.
func (d *driver) linger(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lingerAtMost)
	defer cancel()
	for {
		d.r.mu.Lock()
		p := d.r.at(d.run.ID)
		news, viewed := p.news, p.viewers > 0
		d.r.mu.Unlock()
		if !viewed {
			return
		}
		select {
		case <-news:
		case <-ctx.Done():
			return
		}
	}
}

// tidy removes what nobody needs any more.
func (d *driver) tidy(ctx context.Context, ended Ended) error {
	if ended.Status == store.RunAborted || d.accepted.Destroy {
		if d.r.opts.Keep != KeepEverything && ended.Status != store.RunAborted {
			d.linger(ctx)
		}
		what, err := d.r.reclaim(ctx, d.run, d.accepted.Destroy)
		if err != nil {
			return fmt.Errorf("ending its sandbox: %w", err)
		}
		if what == ReclaimedDestroyed {
			return nil
		}
	}
	if d.r.opts.Keep == KeepEverything && d.journal != nil && (ended.Error == nil || ended.Error.Code != CodeNotStarted) {
		// A journal that stays is found by the next sweep; what keeps a command from beginning must stay.
		if err := d.journal.Remove(ctx); err != nil {
			d.r.log.Debug("a journal was not removed", "run", d.run.ID, "err", err)
		}
	}
	return nil
}
