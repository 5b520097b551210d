package engine

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"
)

// requestMetrics counts the requests of one engine. It is safe for concurrent use.
type requestMetrics struct {
	set      *metrics.Set
	inFlight atomic.Int64
}

// answerSeconds are the upper bounds of the histogram of answers.
var answerSeconds = [...]float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}

func newRequestMetrics() *requestMetrics {
	m := &requestMetrics{set: metrics.NewSet()}
	m.set.NewGauge("alineo_engine_requests_in_flight", func() float64 { return float64(m.inFlight.Load()) })
	return m
}

// wrap counts the requests that next answers, and how long the heads of its answers took: a body
// may last as long as a command.
func (m *requestMetrics) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.inFlight.Add(1)
		defer m.inFlight.Add(-1)
		route, method := routeLabel(r.URL.Path), methodLabel(r.Method)
		counted := &countedWriter{ResponseWriter: w, started: time.Now()}
		defer func() {
			code, took := counted.outcome()
			labels := fmt.Sprintf(`{route=%q,method=%q`, route, method)
			m.set.GetOrCreateCounter("alineo_engine_requests_total" + labels + `,code="` + strconv.Itoa(code) + `"}`).Inc()
			m.set.GetOrCreatePrometheusHistogramExt("alineo_engine_answer_seconds"+labels+"}", answerSeconds[:]).Update(took.Seconds())
		}()
		next.ServeHTTP(counted, r)
	})
}

// countedWriter remembers when and with what the answer's head was written.
type countedWriter struct {
	http.ResponseWriter
	started time.Time
	took    time.Duration
	code    int
}

func (c *countedWriter) head(code int) {
	if c.code == 0 && code >= http.StatusOK || code == http.StatusSwitchingProtocols {
		c.code, c.took = code, time.Since(c.started)
	}
}

func (c *countedWriter) WriteHeader(code int) {
	c.head(code)
	c.ResponseWriter.WriteHeader(code)
}

func (c *countedWriter) Write(p []byte) (int, error) {
	c.head(http.StatusOK)
	return c.ResponseWriter.Write(p) //nolint:wrapcheck // it is a writer
}

// Unwrap lets http.ResponseController reach what the writer can do beside.
func (c *countedWriter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *countedWriter) outcome() (code int, took time.Duration) {
	c.head(http.StatusOK) // what net/http sends for a handler that wrote nothing
	return c.code, c.took
}

// routeLabel is a path without its ids, one of few: a label's values are kept for ever.
func routeLabel(path string) string {
	path = strings.TrimPrefix(path, "/v1")
	seg := strings.Split(strings.Trim(path, "/"), "/")
	switch seg[0] {
	case "health":
		return "/health"
	case "sandboxes", "snapshots", "pools":
	default:
		return "other"
	}
	switch len(seg) {
	case 1:
		return "/" + seg[0]
	case 2:
		return "/" + seg[0] + "/{id}"
	}
	switch seg[2] {
	case "proxy", "endpoints":
		return "/" + seg[0] + "/{id}/" + seg[2] + "/{port}"
	case "renew-expiration", "snapshots", "pause", "resume", "metadata", "diagnostics":
		return "/" + seg[0] + "/{id}/" + seg[2]
	}
	return "other"
}

func methodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodHead, http.MethodOptions:
		return method
	}
	return "other"
}

// scrapeWithin bounds what a scrape asks of the engine.
const scrapeWithin = 5 * time.Second

// MetricsHandler answers with the engine's metrics in Prometheus' text format: requests that came
// through Handler and, while this process serves the data directory, through its socket; sandboxes
// and snapshots by state, whoever serves; and this process's own.
func (e *Engine) MetricsHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), scrapeWithin)
		defer cancel()
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		up := uint64(1)
		for _, of := range [...]string{"sandboxes", "snapshots"} {
			counts, err := countStates(ctx, e.transport, "/"+of)
			if err != nil {
				up = 0
				e.log.Warn("metrics are without counts", "op", "metrics", "err", err)
			}
			writeStates(w, of, counts)
		}
		metrics.WriteGaugeUint64(w, "alineo_engine_up", up)
		e.metrics.set.WritePrometheus(w)
		metrics.WriteProcessMetrics(w)
		metrics.WriteFDMetrics(w)
	})
}

func writeStates(w io.Writer, of string, counts map[string]int) {
	for state, n := range counts {
		metrics.WriteGaugeUint64(w, fmt.Sprintf("alineo_engine_%s{state=%q}", of, state), uint64(max(n, 0)))
	}
}
