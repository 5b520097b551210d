package telemetry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

const (
	tracesPath  = "/v1/traces"
	sendTimeout = 10 * time.Second // of one try
	tries       = 3
	firstPause  = 500 * time.Millisecond
)

// exporter sends batches of spans.
type exporter struct {
	address string
	header  http.Header
	client  *http.Client
	log     hclog.Logger

	mu      sync.Mutex
	failing bool // the last batch was not taken
}

func newExporter(opts Options) (*exporter, error) {
	to, err := url.Parse(strings.TrimRight(opts.Endpoint, "/"))
	if err != nil || to.Scheme != "http" && to.Scheme != "https" || to.Host == "" {
		return nil, fmt.Errorf("the collector's address %q is not a URL such as http://127.0.0.1:4318", opts.Endpoint)
	}
	if !strings.HasSuffix(to.Path, tracesPath) {
		to.Path += tracesPath
	}
	header, err := ParseHeaders(opts.Headers)
	if err != nil {
		return nil, err
	}
	header.Set("Content-Type", "application/x-protobuf")
	header.Set("User-Agent", "alineo-host/"+opts.Version)
	return &exporter{
		address: to.String(), header: header, log: opts.Logger.With("collector", to.Host),
		client: &http.Client{
			Timeout: sendTimeout,
			// The headers are for the collector alone.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute},
		},
	}, nil
}

// ParseHeaders reads headers as OTEL_EXPORTER_OTLP_HEADERS has them. The error does not show a value.
func ParseHeaders(text string) (http.Header, error) {
	header := make(http.Header)
	for pair := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		decoded, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || err != nil || name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' || r == ':' }) ||
			strings.ContainsAny(decoded, "\r\n\x00") {
			return nil, errors.New("the headers are not name=value, with commas between several")
		}
		header.Add(name, decoded)
	}
	return header, nil
}

// ExportSpans sends a batch. Spans that the collector does not take are lost, and that is no error of
// whoever did the work.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if len(spans) == 0 {
		return nil
	}
	err := e.send(ctx, encodeRequest(spans))
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case err != nil && !e.failing:
		e.log.Warn("spans are lost: the collector does not take them", "err", err)
	case err == nil && e.failing:
		e.log.Info("the collector takes spans again")
	}
	e.failing = err != nil
	return nil
}

// Shutdown lets go of the connection.
func (e *exporter) Shutdown(context.Context) error {
	e.client.CloseIdleConnections()
	return nil
}

// send tries a few times, as long as that may help.
func (e *exporter) send(ctx context.Context, body []byte) error {
	pause := firstPause
	for n := 1; ; n++ {
		again, err := e.post(ctx, body)
		if err == nil || !again || n == tries {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
		pause *= 2
	}
}

func (e *exporter) post(ctx context.Context, body []byte) (again bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.address, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	req.Header = e.header.Clone()
	resp, err := e.client.Do(req)
	if err != nil {
		// Where nobody listens, nobody will in a second: a command should not wait for that to end.
		dial, ok := errors.AsType[*net.OpError](err)
		return ctx.Err() == nil && (!ok || dial.Op != "dial"), err
	}
	defer func() { _ = resp.Body.Close() }() // nothing in it matters
	const most = 64 << 10
	_, _ = io.CopyN(io.Discard, resp.Body, most) // so that the connection can be used again
	switch resp.StatusCode {
	case http.StatusOK, http.StatusAccepted, http.StatusNoContent:
		return false, nil
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true, fmt.Errorf("it answers %s", resp.Status)
	}
	return false, fmt.Errorf("it answers %s", resp.Status)
}
