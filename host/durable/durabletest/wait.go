package durabletest

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/alineo-labs/alineo-host/host/durable"
	"github.com/alineo-labs/alineo-host/host/store"
)

// Times of the suite. None of them is waited for when what is waited for is there before.
const (
	patience   = 90 * time.Second
	attachWait = 5 * time.Second
	quiet      = 100 * time.Millisecond
	viewPoll   = 20 * time.Millisecond
	cancelPoll = 100 * time.Millisecond
)

// eventually asks again and again until something is so.
func (e *env) eventually(what string, is func() bool) {
	e.Helper()
	ends := time.Now().Add(patience)
	for !is() {
		if time.Now().After(ends) {
			e.fatalf("%s: not within %s", what, patience)
		}
		e.pause(20 * time.Millisecond)
	}
}

func (e *env) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-e.ctx.Done():
		e.fatalf("the case's time is over")
	}
}

// attach views a run until the case ends.
func (e *env) attach(r *durable.Runs, id string, after uint64) *durable.Viewer {
	e.Helper()
	v, err := r.Attach(e.ctx, id, durable.AttachOptions{After: after})
	e.must(err)
	e.Cleanup(func() { _ = v.Close() })
	return v
}

// next waits for a viewer's next event.
func (e *env) next(v *durable.Viewer) (durable.Event, bool) {
	e.Helper()
	ctx, cancel := context.WithTimeout(e.ctx, patience)
	defer cancel()
	event, err := v.Next(ctx)
	if errors.Is(err, io.EOF) {
		return durable.Event{}, false
	}
	e.must(err)
	return event, true
}

// nextOutput waits for the next output.
func (e *env) nextOutput(v *durable.Viewer) durable.Event {
	e.Helper()
	for {
		event, more := e.next(v)
		if !more {
			e.fatalf("the run ended, and output was waited for")
		}
		if event.Kind == durable.EventOutput {
			return event
		}
	}
}

// outputUntil reads until the output has a text.
func (e *env) outputUntil(v *durable.Viewer, text string) {
	e.Helper()
	var out strings.Builder
	for !strings.Contains(out.String(), text) {
		out.Write(e.nextOutput(v).Data)
	}
}

// rest reads a viewer to the end and returns its output, and its last event.
func (e *env) rest(v *durable.Viewer) (string, durable.Event) {
	e.Helper()
	var out strings.Builder
	var last durable.Event
	for {
		event, more := e.next(v)
		if !more {
			return out.String(), last
		}
		if event.Offset <= last.Offset {
			e.Errorf("event %d comes after event %d", event.Offset, last.Offset)
		}
		if event.Kind == durable.EventOutput {
			out.Write(event.Data)
		}
		last = event
	}
}

// outputOf is the whole output of run-1, and its last event.
func (e *env) outputOf(r *durable.Runs) (string, durable.Event) {
	e.Helper()
	return e.rest(e.attach(r, "run-1", 0))
}

// run gets a record.
func (e *env) run(id string) store.Run {
	e.Helper()
	run, found, err := e.stores().Runs.Get(e.ctx, id)
	e.must(err)
	if !found {
		e.fatalf("there is no run %q", id)
	}
	return run
}

// ended waits for a run's end.
func (e *env) ended(id string) store.Run {
	e.Helper()
	var run store.Run
	e.eventually("the end of run "+id, func() bool {
		run = e.run(id)
		return run.Status.Terminal()
	})
	return run
}

// wantStatus checks how a run ended.
func (e *env) wantStatus(run store.Run, want store.RunStatus) {
	e.Helper()
	if run.Status != want {
		e.Errorf("run %s is %s, not %s (%+v)", run.ID, run.Status, want, run.Error)
	}
	if run.Status.Terminal() != (run.FinishedAt != nil) {
		e.Errorf("run %s is %s, and its end is %v", run.ID, run.Status, run.FinishedAt)
	}
}

func (e *env) wantText(what, got, want string) {
	e.Helper()
	if got != want {
		e.Errorf("%s is %q, not %q", what, got, want)
	}
}

// machineOf opens the sandbox of a run, waiting until it is recorded.
func (e *env) machineOf(run store.Run) durable.Machine {
	e.Helper()
	var record store.Instance
	e.eventually("the sandbox of run "+run.ID, func() bool {
		var found bool
		var err error
		record, found, err = e.stores().Instances.Get(e.ctx, *run.SandboxKey)
		e.must(err)
		return found && record.LatestRunID != nil && *record.LatestRunID == run.ID
	})
	m, err := e.site.Machines.Open(e.ctx, record.ProviderSandboxID)
	e.must(err)
	return m
}

// abandon lets go of everything as a host that dies would, but for its locks, which are given back.
func (e *env) abandon(r *durable.Runs) {
	e.Helper()
	ctx, cancel := context.WithTimeout(e.ctx, patience)
	defer cancel()
	e.must(r.Close(ctx))
}

// outcomes are what a sweep did, by run.
func outcomes(s *durable.Sweep) map[string]durable.Outcome {
	all := map[string]durable.Outcome{}
	for _, run := range s.Runs {
		all[run.RunID] = run.Outcome
	}
	return all
}

// lines are numbered lines.
func lines(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		b.WriteString("line ")
		b.WriteString(itoa(i))
		b.WriteByte('\n')
	}
	return b.String()
}
