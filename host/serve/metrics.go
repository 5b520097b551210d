package serve

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"
)

// serverMetrics counts what one server does. It is safe for concurrent use. Labels are endpoints and codes,
// never ids.
type serverMetrics struct {
	set      *metrics.Set
	started  *metrics.Counter
	inFlight atomic.Int64
	viewers  atomic.Int64
}

func newServerMetrics() *serverMetrics {
	m := &serverMetrics{set: metrics.NewSet()}
	m.started = m.set.NewCounter("alineo_serve_runs_started_total")
	m.set.NewGauge("alineo_serve_requests_in_flight", func() float64 { return float64(m.inFlight.Load()) })
	m.set.NewGauge("alineo_serve_viewers", func() float64 { return float64(m.viewers.Load()) })
	return m
}

// begin counts a request; what it returns is told how it was answered.
func (m *serverMetrics) begin(endpoint string) func(code int) {
	began := time.Now()
	m.inFlight.Add(1)
	return func(code int) {
		m.inFlight.Add(-1)
		labels := fmt.Sprintf(`{endpoint=%q`, endpoint)
		m.set.GetOrCreateCounter("alineo_serve_requests_total" + labels + `,code="` + strconv.Itoa(code) + `"}`).Inc()
		m.set.GetOrCreateSummary("alineo_serve_request_seconds" + labels + "}").Update(time.Since(began).Seconds())
	}
}

// view counts a viewer in; what it returns counts it out.
func (m *serverMetrics) view() func() {
	m.viewers.Add(1)
	return func() { m.viewers.Add(-1) }
}

// serve answers in Prometheus' text format.
func (m *serverMetrics) serve(w http.ResponseWriter, _ *http.Request) error {
	var text bytes.Buffer
	m.set.WritePrometheus(&text)
	metrics.WriteProcessMetrics(&text)
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	if _, err := w.Write(text.Bytes()); err != nil {
		return fmt.Errorf("answering: %w", err)
	}
	return nil
}
