package sandbox

import (
	"context"
	"iter"
	"time"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
)

// Metrics is how busy a sandbox is, or, with servers that measure no more closely, the machine that it
// runs on.
type Metrics struct {
	CPU    float64   // percent of all its cpus
	Memory float64   // percent of its memory
	Time   time.Time // by the server's clock
	// Wire is what the server sent, in its own units and with its own fields.
	Wire *opensandbox.Metrics
}

func newMetrics(m *opensandbox.Metrics) *Metrics {
	const percent = 100
	found := &Metrics{CPU: m.CPUUsedPercent, Time: m.Time(), Wire: m}
	if m.MemoryTotalMiB > 0 {
		found.Memory = m.MemoryUsedMiB / m.MemoryTotalMiB * percent
	}
	return found
}

// Metrics measures once, which takes servers about a second.
func (h *Handle) Metrics(ctx context.Context) (*Metrics, error) {
	const op = "measuring"
	if err := h.ready(); err != nil {
		return nil, h.fail(op, err)
	}
	m, err := h.execd.Metrics(ctx)
	if err != nil {
		return nil, h.fail(op, err)
	}
	return newMetrics(m), nil
}

// WatchMetrics measures about every two seconds until the caller stops or ctx ends. An error ends the
// sequence; a connection that ends is ErrStreamLost.
func (h *Handle) WatchMetrics(ctx context.Context) iter.Seq2[*Metrics, error] {
	const op = "measuring"
	return func(yield func(*Metrics, error) bool) {
		if err := h.ready(); err != nil {
			yield(nil, h.fail(op, err))
			return
		}
		for m, err := range h.execd.WatchMetrics(ctx) {
			if err != nil {
				yield(nil, h.fail(op, err))
				return
			}
			if !yield(newMetrics(m), nil) {
				return
			}
		}
	}
}

// DiagnosticLogs returns the sandbox's logs, as the machine that runs it has them.
func (h *Handle) DiagnosticLogs(ctx context.Context, query opensandbox.DiagnosticsQuery) (*opensandbox.Diagnostics, error) {
	return h.diagnose("getting logs", func() (*opensandbox.Diagnostics, error) {
		return h.c.wire.DiagnosticLogs(ctx, h.id, query)
	})
}

// DiagnosticEvents returns what happened to the sandbox, as the machine that runs it saw it.
func (h *Handle) DiagnosticEvents(ctx context.Context, query opensandbox.DiagnosticsQuery) (*opensandbox.Diagnostics, error) {
	return h.diagnose("getting events", func() (*opensandbox.Diagnostics, error) {
		return h.c.wire.DiagnosticEvents(ctx, h.id, query)
	})
}

func (h *Handle) diagnose(op string, ask func() (*opensandbox.Diagnostics, error)) (*opensandbox.Diagnostics, error) {
	if err := h.open(); err != nil {
		return nil, h.fail(op, err)
	}
	found, err := ask()
	if err != nil {
		return nil, h.fail(op, err)
	}
	return found, nil
}
