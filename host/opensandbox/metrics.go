package opensandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"time"
)

// Metrics is how busy the machine is that a sandbox runs on: on the servers that are known, all of
// it, not the sandbox's share.
type Metrics struct {
	CPUCount       float64 `json:"cpu_count"`
	CPUUsedPercent float64 `json:"cpu_used_pct"`
	MemoryTotalMiB float64 `json:"mem_total_mib"`
	MemoryUsedMiB  float64 `json:"mem_used_mib"`
	Timestamp      float64 `json:"timestamp"` // Unix milliseconds
	// Raw is the whole object as the server sent it.
	Raw json.RawMessage `json:"-"`
}

// Time returns when it was measured, by the server's clock.
func (m *Metrics) Time() time.Time { return time.UnixMilli(int64(m.Timestamp)) }

// UnmarshalJSON keeps the object too.
func (m *Metrics) UnmarshalJSON(raw []byte) error {
	type plain Metrics
	if err := json.Unmarshal(raw, (*plain)(m)); err != nil {
		return err
	}
	m.Raw = bytes.Clone(raw)
	return nil
}

// Metrics measures once, which takes servers about a second.
func (e *Execd) Metrics(ctx context.Context) (*Metrics, error) {
	var m Metrics
	err := e.c.do(ctx, call{
		op: "get metrics", subject: e.sandboxID, to: e.target(), method: http.MethodGet, path: "/metrics", idempotent: true,
	}, &m)
	if err != nil {
		return nil, err
	}
	return &m, nil
}

// WatchMetrics measures about every two seconds until the caller stops or ctx ends. An error ends
// the sequence; a connection that ends is ErrStreamLost.
func (e *Execd) WatchMetrics(ctx context.Context) iter.Seq2[*Metrics, error] {
	call := call{
		op: "watch metrics", subject: e.sandboxID, to: e.target(), method: http.MethodGet, path: "/metrics/watch", idempotent: true,
	}
	return func(yield func(*Metrics, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(errStreamClosed)
		var body *liveBody
		err := e.c.retry(ctx, call, func() error {
			var err error
			body, err = e.c.openStream(ctx, cancel, call, nil)
			return err
		})
		if err != nil {
			yield(nil, err)
			return
		}
		defer func() { _ = body.Close() }() // it goes on for ever, so nobody waits for its end
		lines := lineReader{src: body, max: e.c.opts.MaxLine}
		for {
			line, readErr := lines.next()
			if line = eventData(line); line != nil && (readErr == nil || json.Valid(line)) {
				m, err := parseMetrics(line)
				if err != nil {
					yield(nil, call.in(err))
					return
				}
				if !yield(m, nil) {
					return
				}
			}
			if readErr != nil {
				if errors.Is(readErr, io.EOF) {
					readErr = io.ErrUnexpectedEOF // it has no end of its own
				}
				yield(nil, call.fail(ctx, fmt.Errorf("%w: %w", ErrStreamLost, readErr)))
				return
			}
		}
	}
}

// parseMetrics reads one line of a watch: metrics, or the server's failure.
func parseMetrics(line []byte) (*Metrics, error) {
	var frame Frame
	if err := parseFrame(line, &frame); err != nil {
		return nil, fmt.Errorf("%w: the server sent a line that is %w: %q", ErrStreamLost, err, excerpt(line))
	}
	if frame.Failure != nil {
		return nil, frame.Failure
	}
	m := new(Metrics)
	if err := json.Unmarshal(line, m); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStreamLost, err)
	}
	return m, nil
}
