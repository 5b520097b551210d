package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.opentelemetry.io/otel/trace"

	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/internal/span"
	"github.com/alineo-labs/alineo-host/host/store"
)

// ErrClosed is the answer of a writer that was closed.
var ErrClosed = errors.New("the ledger writer is closed")

// WriterOptions tune a Writer. Zero values are replaced by the defaults that are given.
type WriterOptions struct {
	MaxBatchRows    int                  // entries in one commit; 512
	MaxBatchBytes   int64                // text in one commit, unless one entry alone is larger; 1 MiB
	MaxPendingBytes int64                // what waits to be written, with some 256 bytes an entry; 16 MiB
	CommitTimeout   time.Duration        // of one try; 30 s
	RetryFor        time.Duration        // how long a commit is tried again before its callers get an error; 10 s
	MinBackoff      time.Duration        // before the second try, doubled for each further one; 10 ms
	MaxBackoff      time.Duration        // 1 s
	Logger          hclog.Logger         // none
	TracerProvider  trace.TracerProvider // gets a span of each commit; nil: nobody does
	Now             func() time.Time

	// Redactor takes the values that it knows out of every entry before anything else is done with it.
	// Nil: one of the writer's own, see [Writer.Redactor].
	Redactor *credential.Redactor
	// KeepSecrets writes entries as they come.
	KeepSecrets bool
}

func (o *WriterOptions) setDefaults() {
	o.MaxBatchRows = or(o.MaxBatchRows, 512)
	o.MaxBatchBytes = or(o.MaxBatchBytes, 1<<20)
	o.MaxPendingBytes = or(o.MaxPendingBytes, 16<<20)
	o.CommitTimeout = or(o.CommitTimeout, 30*time.Second)
	o.RetryFor = or(o.RetryFor, 10*time.Second)
	o.MinBackoff = or(o.MinBackoff, 10*time.Millisecond)
	o.MaxBackoff = or(o.MaxBackoff, time.Second)
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Redactor == nil {
		o.Redactor = credential.NewRedactor()
	}
}

func or[N int | int64 | time.Duration](n, instead N) N {
	if n <= 0 {
		return instead
	}
	return n
}

// Writer writes the entries of many sandboxes in shared commits. It is safe for concurrent use.
type Writer struct {
	st      store.Ledger
	opts    WriterOptions
	gate    gate
	keeps   bool // the store keeps something
	tickets sync.Pool
	tracer  *span.Tracer

	base  context.Context //nolint:containedctx // of the commits, which belong to no caller
	abort context.CancelFunc
	wake  chan struct{} // holds a token when there may be something to do
	done  chan struct{} // closed when the committer has ended

	mu     sync.Mutex
	closed bool
	ready  []*Stream // that have entries, in turn

	committer
}

// NewWriter starts a writer over a store. Close it to end its goroutine; the store stays open.
func NewWriter(st store.Ledger, opts WriterOptions) *Writer {
	opts.setDefaults()
	_, off := st.(store.Discard)
	w := &Writer{st: st, keeps: !off, opts: opts, wake: make(chan struct{}, 1), done: make(chan struct{}), tracer: span.New(opts.TracerProvider)}
	w.gate.limit, w.gate.free = opts.MaxPendingBytes, opts.MaxPendingBytes
	w.base, w.abort = context.WithCancel(context.Background())
	go w.run()
	return w
}

// Redactor returns what takes known values out of entries. Values that are added to it are in nothing
// that is appended afterwards.
func (w *Writer) Redactor() *credential.Redactor { return w.opts.Redactor }

// Keeps reports whether anything that is appended is kept: it is not with store.Discard.
func (w *Writer) Keeps() bool { return w.keeps }

// Redacts reports whether it does.
func (w *Writer) Redacts() bool { return !w.opts.KeepSecrets }

// Open claims a sandbox's ledger: whoever held it before can't write to it any more. A stream needs
// no closing.
func (w *Writer) Open(ctx context.Context, key store.Key) (*Stream, error) {
	if err := errors.Join(checkText("name", key.Name, true), checkText("sandbox id", key.SandboxID, true)); err != nil {
		return nil, fmt.Errorf("opening ledger of %s: %w", key, err)
	}
	// A name that was made of the id can have only what looks like a short value.
	const ofID = 8
	if given := strings.TrimSuffix(key.Name, key.SandboxID[:min(ofID, len(key.SandboxID))]); w.Redacts() && w.Redactor().Has(given) {
		return nil, fmt.Errorf("opening a ledger: %w: the sandbox's name has the value of a credential in it", store.ErrInvalid)
	}
	w.mu.Lock()
	closed := w.closed
	w.mu.Unlock()
	if closed {
		return nil, fmt.Errorf("opening ledger of %s: %w", key, ErrClosed)
	}
	head, err := w.st.OpenLedger(ctx, key)
	if err != nil {
		return nil, doing("opening ledger of "+key.String(), err)
	}
	s := &Stream{w: w, key: key, head: head, lastTS: head.MaxTS, hash: append([]byte(nil), head.Hash...)}
	s.lastStep.Store(head.LastStep)
	return s, nil
}

// closeGrace is how long Close waits for a store whose context has ended.
const closeGrace = 2 * time.Second

// Close refuses new work and waits until what was accepted is written. When ctx ends first, what is
// left fails with ErrClosed, and the error says how much that is. It may be called several times.
func (w *Writer) Close(ctx context.Context) error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.gate.close()
	w.nudge()
	select {
	case <-w.done:
	case <-ctx.Done():
		w.abort()
		timer := time.NewTimer(closeGrace)
		defer timer.Stop()
		select {
		case <-w.done:
		case <-timer.C:
			return fmt.Errorf("closing the ledger writer: the store does not answer: %w", context.Cause(ctx))
		}
	}
	if w.lost > 0 {
		return fmt.Errorf("closing the ledger writer: %d entries are not known to be written: %w", w.lost, ErrClosed)
	}
	return nil
}

func (w *Writer) nudge() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// push queues an entry. One that asks is then committed by its caller, or by whom the caller nudges.
func (w *Writer) push(s *Stream, q *queued, asks bool) error {
	w.mu.Lock()
	if err := s.refusal(asks); err != nil {
		w.mu.Unlock()
		return err
	}
	if s.first > 0 && len(s.queue) == cap(s.queue) && s.first >= len(s.queue)/2 {
		n := copy(s.queue, s.queue[s.first:])
		clear(s.queue[n:])
		s.queue, s.first = s.queue[:n], 0
	}
	s.queue = append(s.queue, *q)
	if q.entry.StepIndex > s.lastStep.Load() {
		s.lastStep.Store(q.entry.StepIndex)
	}
	if s.parked != nil {
		s.parked.asked = true
	}
	if !s.ready {
		s.ready = true
		w.ready = append(w.ready, s)
	}
	w.mu.Unlock()
	if !asks {
		w.nudge()
	}
	return nil
}
