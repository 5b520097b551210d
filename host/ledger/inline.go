package ledger

import (
	"context"
	"time"

	"github.com/alineo-labs/alineo-host/host/store"
)

// tried is a batch that a caller has sent once, and what the store answered when it was not written. The
// committer goes on from there.
type tried struct {
	parts []*part
	err   error
}

// patience is how long a caller who has given up still waits for a try of its own. Most are over by
// then, and one that is cut short has to be found out about.
const patience = 100 * time.Millisecond

// commitHere commits on the caller's goroutine what a stream has, when nobody else writes or waits: an
// idle store is mostly faster than two changes of goroutine. Anything but success is the committer's.
// The commit's context is the writer's; the caller's only ends what takes long, as the deadline does.
func (w *Writer) commitHere(ctx context.Context, s *Stream) {
	if !w.turn.TryLock() {
		w.nudge()
		return
	}
	defer w.turn.Unlock()
	if !w.alone(s) {
		w.nudge()
		return
	}
	parts := w.gather()
	if len(parts) == 0 {
		return
	}
	// Should the store panic, the caller may survive it, and the committer finds the batch.
	w.tried = &tried{parts: parts, err: store.ErrUnknownOutcome}
	defer func() {
		if w.tried != nil {
			w.nudge()
		}
	}()
	base, span := w.startSpan(parts)
	commit, cancel := context.WithTimeout(base, w.opts.CommitTimeout)
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		timer := time.NewTimer(patience)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel()
		case <-commit.Done():
		}
	})()
	w.tried.err = w.st.Append(commit, w.batch(parts))
	span.End(failureWord(w.tried.err))
	clear(w.segments)
	if w.tried.err == nil {
		w.tried = nil
		w.wrote(parts)
	}
}

// alone says that nothing but a stream's own entries waits to be written, and that the store was well.
func (w *Writer) alone(s *Stream) bool {
	if w.down || w.tried != nil || len(w.flights) > 0 {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.ready) == 1 && w.ready[0] == s
}
