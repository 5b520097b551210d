package plugintest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/internal/adapter"
	"github.com/alineo-labs/alineo-host/host/internal/plugin"
	"github.com/alineo-labs/alineo-host/host/store"
)

// Measures are what a plugin costs on this machine, now.
type Measures struct {
	Name    string    `json:"name"`
	SHA256  string    `json:"sha256"`
	Bytes   int       `json:"bytes"`   // of the module
	Storage []Granted `json:"storage"` // that it was measured on
	// Cold is from bytes to a plugin that is ready, and Warm the same with machine code from the cache; 0:
	// there is no cache here.
	Cold time.Duration `json:"coldNs"`
	Warm time.Duration `json:"warmNs,omitempty"`
	// Call is a call of echo with 256 bytes; nil: the plugin has no echo.
	Call    *Timing `json:"call,omitempty"`
	Appends []Rate  `json:"appends,omitempty"` // of a ledger, by size of batch
	Read    *Rate   `json:"read,omitempty"`    // of what was appended
	Put     *Rate   `json:"put,omitempty"`     // of instances
	Get     *Rate   `json:"get,omitempty"`
	Memory  int64   `json:"memoryBytes"` // the most that one instance had
}

// Timing is how long calls took.
type Timing struct {
	Calls int           `json:"calls"`
	P50   time.Duration `json:"p50Ns"`
	P99   time.Duration `json:"p99Ns"`
}

// Rate is how much was done in a time.
type Rate struct {
	Timing

	Batch     int     `json:"batch"` // things a call, at most
	Things    int     `json:"things"`
	PerSecond float64 `json:"perSecond"`
}

// benchFor is how long each thing is measured unless Bench is told.
const benchFor = time.Second

// Batches are the sizes of batches that Bench appends.
func batches() []int { return []int{1, 64, 512} }

// Bench measures a plugin on storage of its own, which is as durable as in use. Each thing is done for about a
// time; 0 is a second. Of opts Grants, Config, Limits and what they need count.
func Bench(ctx context.Context, opts Options, each time.Duration) (m Measures, err error) {
	if opts.Logger == nil {
		opts.Logger = hclog.NewNullLogger()
	}
	if each <= 0 {
		each = benchFor
	}
	dir, err := os.MkdirTemp(opts.Dir, "alineo-plugin-bench-")
	if err != nil {
		return m, fmt.Errorf("making a temporary directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	opts.Dir = dir
	s, err := load(ctx, opts)
	if err != nil {
		return m, err
	}
	s.durable = true
	defer func() { err = errors.Join(err, s.close(context.WithoutCancel(ctx))) }()
	m = Measures{Name: opts.Name, SHA256: opts.SHA256, Bytes: len(opts.Wasm), Storage: s.plan().Grants}
	if err := s.measureLoad(ctx, &m); err != nil {
		return m, err
	}
	t := &temporary{ctx: ctx, dir: dir}
	defer t.cleanUp()
	at, err := s.place(t)
	if err != nil {
		return m, fmt.Errorf("making storage: %w", err)
	}
	p, err := s.open(ctx, at, "")
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, p.Close(context.WithoutCancel(ctx))) }()
	if m.Call, err = measureCall(ctx, p, each); err != nil {
		return m, err
	}
	if slices.Contains(s.manifest.Kinds, "ledger") {
		most := int(^uint(0) >> 1)
		if s.manifest.State != abi.StateNone {
			most = mostKept
		}
		if err := measureLedger(ctx, adapter.NewLedger(p), each, most, &m); err != nil {
			return m, err
		}
	}
	if instances := adapter.NewStores(p).Instances; instances != nil {
		if err := measureInstances(ctx, instances, each, &m); err != nil {
			return m, err
		}
	}
	const page = 64 << 10
	m.Memory = int64(p.Info().HighPages) * page
	return m, nil
}

// measureLoad makes the plugin ready, from its bytes and again.
func (s *subject) measureLoad(ctx context.Context, m *Measures) error {
	for _, from := range [...]struct {
		cache string
		times int // the first fills the cache
		into  *time.Duration
	}{{"", 1, &m.Cold}, {s.opts.CacheDir, 2, &m.Warm}} {
		if from.times == 2 && from.cache == "" {
			continue
		}
		for range from.times {
			took, err := s.loadOnce(ctx, from.cache)
			if err != nil {
				return err
			}
			*from.into = took
		}
	}
	return nil
}

func (s *subject) loadOnce(ctx context.Context, cache string) (took time.Duration, err error) {
	rt, err := plugin.NewRuntime(ctx, plugin.RuntimeOptions{CacheDir: cache, Logger: s.opts.Logger})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, rt.Close(context.WithoutCancel(ctx))) }()
	spec := s.spec(anything{s.opts.Logger})
	spec.Module, spec.Wasm, spec.SHA256 = nil, s.opts.Wasm, s.opts.SHA256
	began := time.Now()
	p, err := rt.Load(ctx, spec)
	took = time.Since(began)
	if err != nil {
		return took, err
	}
	// What it is told to close it may not have: that is no business of this one.
	closing, cancel := context.WithTimeout(ctx, closeWithin)
	defer cancel()
	if err := p.Close(closing); err != nil {
		s.opts.Logger.Warn("closing the plugin after it was loaded", "plugin", s.opts.Name, "err", err)
	}
	return took, nil
}

// watch is a measurement that is going on.
type watch struct {
	began time.Time
	took  []time.Duration
}

func (w *watch) time(f func() error) error {
	began := time.Now()
	if w.took == nil {
		w.began = began
	}
	err := f()
	w.took = append(w.took, time.Since(began))
	return err
}

func (w *watch) timing() Timing {
	slices.Sort(w.took)
	n := len(w.took)
	const hundred, ninetyNine = 100, 99
	return Timing{Calls: n, P50: w.took[n/2], P99: w.took[n*ninetyNine/hundred]}
}

// rate ends the measurement.
func (w *watch) rate(batch, things int) *Rate {
	past := time.Since(w.began)
	return &Rate{Timing: w.timing(), Batch: batch, Things: things, PerSecond: float64(things) / past.Seconds()}
}

// over says whether it has gone on for long enough, or the caller wants no more.
func (w *watch) over(ctx context.Context, each time.Duration) bool {
	return ctx.Err() != nil || w.took != nil && time.Since(w.began) >= each
}

// mostCalls bounds the calls of a plugin whose calls take next to nothing.
const mostCalls = 50_000

func measureCall(ctx context.Context, p *instance, each time.Duration) (*Timing, error) {
	const size = 256
	body := raw(bytes.Repeat([]byte{'x'}, size))
	var reply raw
	var w watch
	for !w.over(ctx, each) && len(w.took) < mostCalls {
		err := w.time(func() error { return p.Plugin.Call(ctx, abi.OpEcho, &body, nil, &reply) })
		if guest, ok := errors.AsType[*abi.Error](err); ok && guest.Code == abi.CodeUnsupported {
			return nil, nil //nolint:nilnil // it has no echo
		}
		if err != nil {
			return nil, err
		}
	}
	timing := w.timing()
	return &timing, ctx.Err()
}

// line is a payload as exec.output has it.
func line() json.RawMessage {
	return json.RawMessage(`{"seq":1,"type":"stdout","text":"a line of output such as a compiler prints, of about one hundred characters in all"}`)
}

// mostKept bounds the entries of a plugin that may keep them in its memory, for each size of batch.
const mostKept = 20_000

func measureLedger(ctx context.Context, st store.Ledger, each time.Duration, most int, m *Measures) error {
	key := store.Key{Name: "bench", SandboxID: "bench-1"}
	head, err := st.OpenLedger(ctx, key)
	if err != nil {
		return err
	}
	ts, payload := max(head.MaxTS, 1), line()
	for _, size := range batches() {
		var w watch
		things := 0
		for !w.over(ctx, each) && things < most {
			segment := store.Segment{Key: key, Epoch: head.Epoch, Previous: head.Hash, Leaves: make([]byte, 32*size), Entries: make([]store.Entry, size)}
			_, _ = rand.Read(segment.ID[:]) // never fails
			_, _ = rand.Read(segment.Hash[:])
			for i := range segment.Entries {
				ts++
				segment.Entries[i] = store.Entry{
					TS: ts, Name: key.Name, SandboxID: key.SandboxID, StepIndex: 1, Event: store.EventExecOutput, Payload: payload,
				}
			}
			if err := w.time(func() error { return st.Append(ctx, &store.Batch{Segments: []store.Segment{segment}}) }); err != nil {
				return err
			}
			head.Hash = segment.Hash[:]
			things += size
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		m.Appends = append(m.Appends, *w.rate(size, things))
	}
	var w watch
	var page store.Page
	things := 0
	const rows = 1000
	for opts := (store.ReadOptions{Limit: rows}); !w.over(ctx, each); opts.Cursor = page.Cursor {
		if err := w.time(func() error { page, err = st.Read(ctx, key, opts); return err }); err != nil {
			return err
		}
		if things += len(page.Entries); !page.More {
			break
		}
	}
	m.Read = w.rate(rows, things)
	return ctx.Err()
}

func measureInstances(ctx context.Context, st store.Instances, each time.Duration, m *Measures) error {
	var puts, gets watch
	record := store.Instance{Provider: "bench", ProviderSandboxID: "bench-1", ThreadID: "bench", UpdatedAt: 1}
	key := func(n int) string { return fmt.Sprintf("bench-%d", n%100) }
	for n := 0; !puts.over(ctx, each); n++ {
		record.Key = key(n)
		if err := puts.time(func() error { return st.Put(ctx, record) }); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	m.Put = puts.rate(1, len(puts.took))
	for n := 0; !gets.over(ctx, each) && n < mostCalls; n++ {
		if err := gets.time(func() error { _, _, err := st.Get(ctx, key(n%len(puts.took))); return err }); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	m.Get = gets.rate(1, len(gets.took))
	return nil
}
