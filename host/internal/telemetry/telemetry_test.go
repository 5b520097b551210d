package telemetry_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/go-hclog"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	spans "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/alineo-labs/alineo-host/host/internal/telemetry"
)

func open(t *testing.T, opts telemetry.Options) *telemetry.Provider {
	t.Helper()
	provider, err := telemetry.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	return provider
}

// What is sent is what the official messages understand, also what the host itself sets no span of.
func TestEncoding(t *testing.T) {
	t.Parallel()
	var request collector.ExportTraceServiceRequest
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err := errors.Join(err, proto.Unmarshal(body, &request)); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	provider := open(t, telemetry.Options{Endpoint: server.URL + "/base/v1/traces", Version: "1.2"})
	tracer := provider.Tracer("scope", trace.WithInstrumentationVersion("3"))
	ctx, outer := tracer.Start(t.Context(), "outer", trace.WithSpanKind(trace.SpanKindClient))
	_, inner := tracer.Start(ctx, "inner", trace.WithLinks(trace.Link{
		SpanContext: outer.SpanContext(), Attributes: []attribute.KeyValue{attribute.Bool("linked", true)},
	}))
	inner.SetAttributes(
		attribute.String("text", "é"), attribute.String("empty", ""), attribute.Int64("negative", -2), attribute.Bool("off", false),
		attribute.Float64("half", 0.5), attribute.StringSlice("list", []string{"a", "b"}),
	)
	inner.SetStatus(codes.Error, "broken")
	inner.End()
	outer.SetStatus(codes.Ok, "")
	outer.End()
	provider.Close(t.Context())

	scope := request.GetResourceSpans()[0].GetScopeSpans()[0]
	if scope.GetScope().GetName() != "scope" || scope.GetScope().GetVersion() != "3" || len(scope.GetSpans()) != 2 {
		t.Fatalf("got %v", &request)
	}
	in, out := scope.GetSpans()[0], scope.GetSpans()[1]
	if in.GetName() != "inner" || !bytes.Equal(in.GetParentSpanId(), out.GetSpanId()) || !bytes.Equal(in.GetTraceId(), out.GetTraceId()) ||
		len(out.GetParentSpanId()) != 0 || in.GetFlags() != 1 {
		t.Errorf("got %v and %v", in, out)
	}
	if out.GetKind() != spans.Span_SPAN_KIND_CLIENT || in.GetKind() != spans.Span_SPAN_KIND_INTERNAL ||
		out.GetStatus().GetCode() != spans.Status_STATUS_CODE_OK || in.GetStatus().GetCode() != spans.Status_STATUS_CODE_ERROR || in.GetStatus().GetMessage() != "broken" {
		t.Errorf("got %v and %v", in, out)
	}
	if links := in.GetLinks(); len(links) != 1 || !bytes.Equal(links[0].GetSpanId(), out.GetSpanId()) || !links[0].GetAttributes()[0].GetValue().GetBoolValue() {
		t.Errorf("links %v", in.GetLinks())
	}
	values := in.GetAttributes()
	if len(values) != 6 || values[0].GetValue().GetStringValue() != "é" || values[1].GetValue().Value == nil || values[2].GetValue().GetIntValue() != -2 ||
		values[3].GetValue().Value == nil || values[4].GetValue().GetDoubleValue() != 0.5 || !strings.Contains(values[5].GetValue().GetStringValue(), "a") {
		t.Errorf("attributes %v", values)
	}
}

// What may help is tried again, what can't is not, and it is said once.
func TestTries(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what   string
		status []int // of one answer after the other; the last one for all that follow
		asked  int32
		told   bool
	}{
		{"taken", []int{200}, 1, false},
		{"taken in the end", []int{503, 429, 200}, 3, false},
		{"busy", []int{503}, 3, true},
		{"refused", []int{401}, 1, true},
		{"elsewhere", []int{307}, 1, true},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				n := int(asked.Add(1))
				w.Header().Set("Location", "http://127.0.0.1:1/")
				w.WriteHeader(c.status[min(n, len(c.status))-1])
			}))
			defer server.Close()
			var log bytes.Buffer
			provider := open(t, telemetry.Options{Endpoint: server.URL, Logger: hclog.New(&hclog.LoggerOptions{Output: &log})})
			_, s := provider.Tracer("x").Start(t.Context(), "one")
			s.End()
			provider.Close(context.WithoutCancel(t.Context()))
			if asked.Load() != c.asked {
				t.Errorf("asked %d times, want %d", asked.Load(), c.asked)
			}
			if told := strings.Count(log.String(), "spans are lost"); told > 1 || (told == 1) != c.told {
				t.Errorf("told %d times: %s", told, &log)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for _, opts := range []telemetry.Options{
		{Endpoint: ""},
		{Endpoint: "localhost:4318"},
		{Endpoint: "ftp://x"},
		{Endpoint: "http://x", Headers: "s3cret"},
		{Endpoint: "http://x", Headers: "a=s3cret%0d%0ab: c"},
		{Endpoint: "http://x", Headers: "a b=s3cret"},
	} {
		if _, err := telemetry.Open(t.Context(), opts); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%+v: %v", opts, err)
		}
	}
}

func FuzzParseHeaders(f *testing.F) {
	f.Add("authorization=Bearer%20key, x=y")
	f.Add("=,a=%zz")
	f.Fuzz(func(t *testing.T, text string) {
		header, err := telemetry.ParseHeaders(text)
		if err != nil {
			return
		}
		req := &http.Request{Method: http.MethodGet, Header: header, URL: must(http.NewRequest(http.MethodGet, "http://x/", http.NoBody)).URL}
		if err := req.Write(io.Discard); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
