package execd

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// metrics is one message: the sandbox's own figures, in the fields that the
// original gives the machine's in.
type metrics struct {
	CPUs      float64 `json:"cpu_count"`
	CPUPct    float64 `json:"cpu_used_pct"` // of all these, 0 to 100
	TotalMiB  float64 `json:"mem_total_mib"`
	UsedMiB   float64 `json:"mem_used_mib"`
	Timestamp int64   `json:"timestamp"` // milliseconds
}

const (
	metricsWindow = 250 * time.Millisecond // that the processor's use is measured over
	metricsEvery  = 2 * time.Second        // between messages of a watch
)

// between makes the message about the time between two looks.
func (m *Meter) between(a, b usage) metrics {
	out := metrics{CPUs: m.cpus, TotalMiB: float64(m.total) / (1 << 20), UsedMiB: float64(b.memory) / (1 << 20), Timestamp: b.at.UnixMilli()}
	if wall := b.at.Sub(a.at); wall > 0 && b.cpu > a.cpu && m.cpus > 0 {
		out.CPUPct = min(100, 100*float64(b.cpu-a.cpu)/float64(wall)/m.cpus)
	}
	return out
}

// measure looks again after a while, and tells what happened meanwhile.
func (m *Meter) measure(ctx context.Context, last usage, d time.Duration) (metrics, usage, error) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
		return metrics{}, last, ctx.Err()
	}
	now, err := m.look()
	if err != nil {
		return metrics{}, last, err
	}
	return m.between(last, now), now, nil
}

func (s *Server) metrics(w http.ResponseWriter, r *http.Request) {
	first, err := s.opts.Meter.look()
	var out metrics
	if err == nil {
		out, _, err = s.opts.Meter.measure(r.Context(), first, metricsWindow)
	}
	if err != nil {
		writeError(w, http.StatusInternalServerError, codeRuntime, "error reading metrics. "+err.Error())
		return
	}
	writeJSON(w, http.StatusOK, out)
}

// watchMetrics sends a message every two seconds, each a line, until the
// client has enough.
func (s *Server) watchMetrics(w http.ResponseWriter, r *http.Request) {
	last, err := s.opts.Meter.look()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	flush := http.NewResponseController(w)
	send := func(v any) error {
		b, err := json.Marshal(v)
		if err == nil {
			_, err = w.Write(append(b, '\n'))
		}
		if err == nil {
			err = flush.Flush()
		}
		return err
	}
	for wait := metricsWindow; err == nil; wait = metricsEvery {
		var msg metrics
		if msg, last, err = s.opts.Meter.measure(r.Context(), last, wait); err != nil {
			break
		}
		if send(msg) != nil {
			return // the client has gone
		}
	}
	if r.Context().Err() == nil {
		_ = send(map[string]string{"error": err.Error()}) // else the client has gone
	}
}
