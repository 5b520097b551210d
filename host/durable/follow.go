package durable

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/alineo-labs/alineo-host/host/internal/journal"
	"github.com/alineo-labs/alineo-host/host/store"
)

const (
	// queueBytes is how much of a journal is read ahead of the log.
	queueBytes = 1 << 20
	// batchEvents is how many events are appended at once.
	batchEvents = 512
	// idleFirst and idleMost are how long a silent command is not asked about: first, and when it turned out to
	// live several times.
	idleFirst = 3 * time.Second
	idleMost  = 30 * time.Second
)

// errExit stops the reader at the sentinel.
var errExit = errors.New("the command has ended")

// lineQueue is what was read and not yet appended.
type lineQueue struct {
	mu    sync.Mutex
	lines []queued
	bytes int
	more  chan struct{} // has one when there is something
	room  chan struct{} // has one when there is room again
}

type queued struct {
	text []byte
	end  int64
	exit *int // of the sentinel, which has no text
}

func newLineQueue() *lineQueue {
	return &lineQueue{more: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// push waits while the queue is full.
func (q *lineQueue) push(ctx context.Context, item queued) error {
	for {
		q.mu.Lock()
		if q.bytes == 0 || q.bytes+len(item.text) <= queueBytes {
			q.lines = append(q.lines, item)
			q.bytes += len(item.text) + 1
			q.mu.Unlock()
			signal(q.more)
			return nil
		}
		q.mu.Unlock()
		select {
		case <-q.room:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// take returns what there is, some hundred lines at most.
func (q *lineQueue) take() []queued {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(q.lines), batchEvents)
	taken := q.lines[:n:n]
	for _, item := range taken {
		q.bytes -= len(item.text) + 1
	}
	q.lines = append([]queued(nil), q.lines[n:]...)
	if len(q.lines) > 0 {
		signal(q.more)
	}
	signal(q.room)
	return taken
}

// follow brings the journal from a position on into the log, until the sentinel, and returns the exit code.
// A store that is slow makes the reading slow.
func (d *driver) follow(ctx context.Context, from int64) (int, error) {
	reading, stop := context.WithCancel(ctx)
	queue := newLineQueue()
	read := make(chan error, 1)
	go func() { read <- d.read(reading, from, queue) }()
	defer func() {
		stop()
		if read != nil {
			if err := <-read; err != nil && ctx.Err() == nil {
				d.r.log.Trace("the reader of a journal was stopped", "run", d.run.ID, "err", err)
			}
		}
	}()
	idle, wait := time.NewTimer(idleFirst), idleFirst
	defer idle.Stop()
	at, began := from, time.Now()
	for {
		select {
		case <-queue.more:
			for {
				items := queue.take()
				if len(items) == 0 {
					break
				}
				code, err := d.put(ctx, items, &at)
				if err != nil || code != nil {
					return derefInt(code), err
				}
			}
			wait = idleFirst
			idle.Reset(wait)
		case err := <-read:
			read = nil
			if err != nil {
				return 0, err
			}
		case <-idle.C:
			if err := d.lives(ctx, began); err != nil {
				return 0, err
			}
			wait = min(2*wait, idleMost)
			idle.Reset(wait)
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}

func derefInt(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

// put appends lines to the log, and returns the exit code when the sentinel was among them.
func (d *driver) put(ctx context.Context, items []queued, at *int64) (code *int, err error) {
	events := make([]store.LogEvent, 0, len(items))
	begin := *at
	for _, item := range items {
		if item.exit != nil {
			code = item.exit
			break
		}
		*at = item.end
		if d.r.opts.Keep == KeepEverything {
			events = append(events, store.LogEvent{Kind: EventOutput, Data: item.text})
		}
	}
	if d.r.opts.Keep != KeepEverything && *at > begin {
		events = append(events, store.LogEvent{Kind: eventRange, Data: encode(ranged{From: begin, To: *at})})
	}
	return code, d.w.put(ctx, events)
}

// read fills the queue from the journal until the sentinel, as long as the sandbox is there.
func (d *driver) read(ctx context.Context, from int64, queue *lineQueue) error {
	nonce := d.journal.Nonce()
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 10*time.Second) {
		err := d.journal.Read(ctx, from, func(line journal.Line) error {
			item := queued{end: line.End}
			code, exit := journal.ParseSentinel(line.Text, nonce)
			if exit {
				item.exit = &code
			} else {
				item.text = append([]byte(nil), line.Text...)
			}
			if err := queue.push(ctx, item); err != nil {
				return err
			}
			from = line.End
			wait = 100 * time.Millisecond
			if exit {
				return errExit
			}
			return nil
		})
		switch {
		case errors.Is(err, errExit):
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		if gone := d.there(ctx); gone != nil {
			return gone
		}
		d.r.log.Debug("a journal could not be read, trying again", "run", d.run.ID, "err", err)
		if err := pause(ctx, wait); err != nil {
			return err
		}
	}
}

// there finds out whether the sandbox is gone. Not knowing is no answer.
func (d *driver) there(ctx context.Context) error {
	_, err := d.r.opts.Machines.Open(ctx, d.machine.ID())
	if errors.Is(err, ErrGone) {
		return failed(CodeSandboxGone, err)
	}
	return nil
}

// lives finds out what became of a command that says nothing: when its processes are gone, without a
// sentinel, it will never say anything. A command that has not begun, on a busy machine, has some time to.
func (d *driver) lives(ctx context.Context, since time.Time) error {
	pending, err := d.journal.Pending(ctx)
	if err != nil {
		return d.there(ctx)
	}
	if pending {
		const patience = 6
		if time.Since(since) < patience*d.r.opts.AttachWait {
			return nil
		}
		revoked, err := d.journal.Revoke(ctx)
		if err != nil {
			return d.there(ctx)
		}
		if revoked {
			return failed(CodeNotStarted, fmt.Errorf("the sandbox was asked to start the command, and did not within %s", patience*d.r.opts.AttachWait))
		}
		return nil // it has just begun
	}
	for look := range 2 {
		if look > 0 {
			// Nothing else was ever seen to be needed; but an end that is invented can't be taken back.
			if err := pause(ctx, time.Second); err != nil {
				return err
			}
		}
		alive, err := d.journal.Alive(ctx)
		if err != nil {
			return d.there(ctx)
		}
		exit, err := d.journal.Probe(ctx)
		if alive || err != nil || exit.Finished {
			return nil //nolint:nilerr // nobody knows, or the reader will see it
		}
	}
	return failed(CodeVanished, errors.New("the command's processes are gone, and nothing says how it ended"))
}

func decode(data []byte, v any) error {
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("an event of the host's own can't be read: %w", err)
	}
	return nil
}
