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
	plugins  func() []Plugin // nil: nobody tells of them
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

// writePlugins tells how each plugin is. Its numbers begin anew when it is reloaded, as those of a process do
// that is started again.
func (m *serverMetrics) writePlugins(text *bytes.Buffer) {
	if m.plugins == nil {
		return
	}
	for _, p := range m.plugins() {
		up := 0
		if p.Status == PluginReady {
			up = 1
		}
		for _, line := range [...]struct {
			name  string
			value any
		}{
			{"up", up},
			{"calls_total", p.Calls},
			{"errors_total", p.Errors},
			{"crashes_total", p.Crashes},
			{"instances", p.Instances},
			{"waiting", p.Waiting},
			{"memory_bytes", p.MemoryBytes},
		} {
			fmt.Fprintf(text, "alineo_plugin_%s{plugin=%q} %v\n", line.name, p.Name, line.value)
		}
		fmt.Fprintf(text, "alineo_plugin_call_seconds{plugin=%q,quantile=\"0.5\"} %g\n", p.Name, p.P50.Seconds())
		fmt.Fprintf(text, "alineo_plugin_call_seconds{plugin=%q,quantile=\"0.99\"} %g\n", p.Name, p.P99.Seconds())
	}
}

// serve answers in Prometheus' text format.
func (m *serverMetrics) serve(w http.ResponseWriter, _ *http.Request) error {
	var text bytes.Buffer
	m.set.WritePrometheus(&text)
	m.writePlugins(&text)
	metrics.WriteProcessMetrics(&text)
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	if _, err := w.Write(text.Bytes()); err != nil {
		return fmt.Errorf("answering: %w", err)
	}
	return nil
}
