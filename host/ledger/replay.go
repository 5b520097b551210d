package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/alineo-labs/alineo-host/host/store"
)

// ReplayOptions say what is replayed.
type ReplayOptions struct {
	Tag string // of the checkpoint; empty for the last one
	// OwnOnly leaves the sandboxes out that it was resumed from, as the reference does: what they
	// ran is then run again.
	OwnOnly bool
	MaxText int64 // of the text kept of each stream of each exec, in bytes; 0 keeps all
}

// Replay is what a ledger says had been done by the time of a checkpoint.
type Replay struct {
	Key        store.Key
	Checkpoint Checkpoint
	Lineage    []Origin // oldest first; the last one is the sandbox itself
	// Results are the execs that had completed, by seq. Asked for the same again, the host answers
	// from here.
	Results map[int64]*Exec
	// Unfinished are the execs that had started but not completed; they run again under their seq.
	Unfinished map[int64]*Exec
	Problems   []Problem // rows that were skipped, the first 100
	Skipped    int       // how many rows were skipped
}

// Exec is what a ledger says about one exec.
type Exec struct {
	Seq       int64
	Kind      Kind            // empty when its start is not in the ledger
	Command   string          // or code
	SessionID string          // of a session's exec
	Digest    string          // of exec.started, empty when it had none
	Started   json.RawMessage // payload of exec.started
	Stdout    string          // joined as Kind.AppendText says
	Stderr    string
	// Rich is what code told besides text: the payloads of its results and exceptions, in order, the
	// first 1000.
	Rich      []json.RawMessage
	Stdin     []string // what was written to an interactive one, in order
	ExitCode  int
	Reason    string // of exec.completed, when it has one
	Truncated bool   // MaxText left something out
	StartedAt int64  // Unix milliseconds
	EndedAt   int64  // Unix milliseconds, 0 when it did not complete
}

const (
	maxProblems = 100
	maxRich     = 1000
)

// BuildReplay reads a sandbox's history up to a checkpoint. The error is a *NoCheckpointError when
// there is no such checkpoint. A row that can't be read is skipped and reported, never fatal.
func BuildReplay(ctx context.Context, st store.Ledger, key store.Key, opts ReplayOptions) (*Replay, error) {
	lineage, problems, err := Lineage(ctx, st, key)
	if err != nil {
		return nil, fmt.Errorf("replaying %s: %w", key, err)
	}
	if opts.OwnOnly {
		lineage, problems = lineage[len(lineage)-1:], nil
	}
	chosen, err := SelectCheckpoint(ctx, st, lineage, opts.Tag)
	if err != nil {
		return nil, fmt.Errorf("replaying %s: %w", key, err)
	}
	b := newBuilder(opts.MaxText)
	for e, err := range ReadHistory(ctx, st, lineage) {
		if err != nil {
			return nil, fmt.Errorf("replaying %s: %w", key, err)
		}
		if e.ID == chosen.ID && e.SandboxID == chosen.Key.SandboxID && e.Name == chosen.Key.Name {
			r := b.finish()
			r.Key, r.Checkpoint, r.Lineage = key, chosen, lineage
			r.Problems = append(problems, r.Problems...)
			r.Skipped += len(problems)
			return r, nil
		}
		b.add(&e)
	}
	return nil, fmt.Errorf("replaying %s: the entry %d of checkpoint %q is gone: %w", key, chosen.ID, chosen.SnapshotID, store.ErrNotFound)
}

// builder folds entries into a replay.
type builder struct {
	maxText int64
	replay  *Replay
	open    map[int64]*running
}

// running is an exec that has started.
type running struct {
	exec           *Exec
	stdout, stderr []byte
	rich           int64   // bytes of exec.Rich
	cut            [2]bool // MaxText was reached, of stdout and stderr
}

func newBuilder(maxText int64) *builder {
	return &builder{maxText: maxText, open: map[int64]*running{}, replay: &Replay{
		Results: map[int64]*Exec{}, Unfinished: map[int64]*Exec{},
	}}
}

func (b *builder) add(e *store.Entry) {
	var err error
	switch store.CurrentName(e.Event) {
	case store.EventExecStarted:
		err = b.started(e)
	case store.EventExecOutput:
		err = b.output(e)
	case store.EventExecCompleted:
		err = b.completed(e)
	case store.EventCheckpointCreated:
		if checkpointOf(e).SnapshotID == "" {
			err = errors.New("the checkpoint names no snapshot")
		}
	}
	if err != nil {
		if b.replay.Skipped++; len(b.replay.Problems) < maxProblems {
			key := store.Key{Name: e.Name, SandboxID: e.SandboxID}
			b.replay.Problems = append(b.replay.Problems, Problem{Key: key, ID: e.ID, Event: e.Event, Err: err})
		}
	}
}

var errNoSeq = errors.New("it says no seq")

// execSeq returns an entry's seq: that of the payload, else that of the row.
func execSeq(e *store.Entry, seq int64, has bool) (int64, error) {
	if has {
		return seq, nil
	}
	if e.StepIndex >= 0 {
		return e.StepIndex, nil
	}
	return 0, errNoSeq
}

func (b *builder) started(e *store.Entry) error {
	o, err := openObject(e.Payload)
	if err != nil {
		return err
	}
	x := &Exec{Kind: KindExec, Started: e.Payload, StartedAt: e.TS}
	var hasSeq, interactive, hasCommand bool
	for name, value := range o.members() {
		switch name {
		case "seq":
			x.Seq, hasSeq = integer(value)
		case "cmd":
			x.Command, hasCommand = text(value), true
		case "code":
			x.Command, x.Kind, hasCommand = text(value), KindCode, true
		case "sessionId":
			x.SessionID = text(value)
		case "interactive":
			interactive = string(value) == "true"
		case DigestField:
			x.Digest = text(value)
		}
	}
	switch {
	case !hasCommand:
		return errors.New("it says neither cmd nor code")
	case interactive:
		x.Kind = KindInteractive
	case x.SessionID != "":
		x.Kind = KindSession
	}
	if x.Seq, err = execSeq(e, x.Seq, hasSeq); err != nil {
		return err
	}
	b.open[x.Seq] = &running{exec: x} // of two with one seq the later counts
	return nil
}

func (b *builder) output(e *store.Entry) error {
	o, err := openObject(e.Payload)
	if err != nil {
		return err
	}
	var seq int64
	var hasSeq bool
	var kind, frame string
	for name, value := range o.members() {
		switch name {
		case "seq":
			seq, hasSeq = integer(value)
		case "type":
			kind = text(value)
		case "text":
			frame = text(value)
		}
	}
	if seq, err = execSeq(e, seq, hasSeq); err != nil {
		return err
	}
	r := b.open[seq]
	if r != nil && r.exec.Kind == KindCode && (kind == "result" || kind == "error") {
		b.rich(r, e.Payload)
		return nil
	}
	if r == nil || frame == "" {
		return nil // output before the start counts for nothing, nor do frames without text
	}
	switch kind {
	case "stdout":
		r.stdout = b.text(r, 0, r.stdout, frame)
	case "stderr":
		r.stderr = b.text(r, 1, r.stderr, frame)
	case "stdin":
		r.exec.Stdin = append(r.exec.Stdin, frame)
	}
	return nil
}

// rich keeps a result or an exception as far as MaxText allows.
func (b *builder) rich(r *running, payload json.RawMessage) {
	r.rich += int64(len(payload))
	if len(r.exec.Rich) == maxRich || b.maxText > 0 && r.rich > b.maxText {
		r.exec.Truncated = true
		return
	}
	r.exec.Rich = append(r.exec.Rich, payload)
}

// text appends a frame as far as MaxText allows.
func (b *builder) text(r *running, stream int, dst []byte, frame string) []byte {
	if r.cut[stream] {
		return dst
	}
	dst = r.exec.Kind.AppendText(dst, frame)
	if b.maxText > 0 && int64(len(dst)) > b.maxText {
		r.cut[stream], r.exec.Truncated = true, true
		n := int(b.maxText)
		for n > 0 && !utf8.RuneStart(dst[n]) {
			n--
		}
		dst = dst[:n]
	}
	return dst
}

func (b *builder) completed(e *store.Entry) error {
	o, err := openObject(e.Payload)
	if err != nil {
		return err
	}
	var seq, code int64
	var hasSeq, hasCode bool
	reason := ""
	for name, value := range o.members() {
		switch name {
		case "seq":
			seq, hasSeq = integer(value)
		case "exitCode":
			code, hasCode = integer(value)
		case "reason":
			reason = text(value)
		}
	}
	if seq, err = execSeq(e, seq, hasSeq); err != nil {
		return err
	}
	if !hasCode {
		return errors.New("it says no exit code") // an ending is never invented
	}
	x := &Exec{Seq: seq}
	if r := b.open[seq]; r != nil {
		x = r.finish()
		delete(b.open, seq)
	} else if before := b.replay.Results[seq]; before != nil {
		*x = *before // it completed twice
	}
	x.ExitCode, x.Reason, x.EndedAt = int(code), reason, e.TS
	b.replay.Results[seq] = x
	return nil
}

func (r *running) finish() *Exec {
	r.exec.Stdout, r.exec.Stderr = string(r.stdout), string(r.stderr)
	return r.exec
}

func (b *builder) finish() *Replay {
	for seq, r := range b.open {
		b.replay.Unfinished[seq] = r.finish()
	}
	return b.replay
}
