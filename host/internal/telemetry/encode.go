package telemetry

import (
	"encoding/binary"
	"math"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Wire types of protobuf.
const (
	varint  = 0
	fixed64 = 1
	length  = 2
	fixed32 = 5
)

// encodeRequest makes an ExportTraceServiceRequest of spans of one resource, the provider's.
func encodeRequest(spans []sdktrace.ReadOnlySpan) []byte {
	scopes := map[instrumentation.Scope][]sdktrace.ReadOnlySpan{}
	var order []instrumentation.Scope
	for _, s := range spans {
		scope := s.InstrumentationScope()
		if _, known := scopes[scope]; !known {
			order = append(order, scope)
		}
		scopes[scope] = append(scopes[scope], s)
	}
	body := message(nil, 1, encodeResource(spans[0].Resource()))
	for _, scope := range order {
		body = message(body, 2, encodeScope(scope, scopes[scope]))
	}
	return message(nil, 1, body)
}

func encodeResource(r *resource.Resource) []byte {
	return attributes(nil, 1, r.Attributes())
}

func encodeScope(scope instrumentation.Scope, spans []sdktrace.ReadOnlySpan) []byte {
	about := text(nil, 1, scope.Name)
	about = text(about, 2, scope.Version)
	body := message(nil, 1, about)
	for _, s := range spans {
		body = message(body, 2, encodeSpan(s))
	}
	return body
}

func encodeSpan(s sdktrace.ReadOnlySpan) []byte {
	own, parent := s.SpanContext(), s.Parent()
	body := identity(nil, 1, 2, own)
	body = text(body, 3, own.TraceState().String())
	if id := parent.SpanID(); id.IsValid() {
		body = message(body, 4, id[:])
	}
	body = text(body, 5, s.Name())
	body = number(body, 6, uint64(max(s.SpanKind(), 0))) //nolint:gosec // not negative
	body = instant(body, 7, s.StartTime())
	body = instant(body, 8, s.EndTime())
	body = attributes(body, 9, s.Attributes())
	body = number(body, 10, uint64(max(s.DroppedAttributes(), 0))) //nolint:gosec // not negative
	for _, link := range s.Links() {
		one := identity(nil, 1, 2, link.SpanContext)
		one = text(one, 3, link.SpanContext.TraceState().String())
		body = message(body, 13, attributes(one, 4, link.Attributes))
	}
	body = number(body, 14, uint64(max(s.DroppedLinks(), 0))) //nolint:gosec // not negative
	if status := s.Status(); status.Code != codes.Unset {
		one := text(nil, 2, status.Description)
		code := uint64(1) // ok
		if status.Code == codes.Error {
			code = 2
		}
		body = message(body, 15, number(one, 3, code))
	}
	body = binary.AppendUvarint(body, 16<<3|fixed32)
	return binary.LittleEndian.AppendUint32(body, uint32(own.TraceFlags()))
}

func identity(dst []byte, trace, span int, of trace.SpanContext) []byte {
	traceID, spanID := of.TraceID(), of.SpanID()
	return message(message(dst, trace, traceID[:]), span, spanID[:])
}

func attributes(dst []byte, field int, list []attribute.KeyValue) []byte {
	for _, a := range list {
		one := text(nil, 1, string(a.Key))
		dst = message(dst, field, message(one, 2, encodeValue(a.Value)))
	}
	return dst
}

// encodeValue makes an AnyValue. Lists are told as text: nothing here sets one.
func encodeValue(v attribute.Value) []byte {
	switch v.Type() { //nolint:exhaustive // the others are lists
	case attribute.BOOL:
		on := uint64(0)
		if v.AsBool() {
			on = 1
		}
		return binary.AppendUvarint([]byte{2<<3 | varint}, on)
	case attribute.INT64:
		return binary.AppendUvarint([]byte{3<<3 | varint}, uint64(v.AsInt64())) //nolint:gosec // two's complement is the encoding
	case attribute.FLOAT64:
		return binary.LittleEndian.AppendUint64([]byte{4<<3 | fixed64}, math.Float64bits(v.AsFloat64()))
	}
	return message(nil, 1, []byte(v.String()))
}

// message appends a field that has a length, also an empty one.
func message(dst []byte, field int, body []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(field)<<3|length) //nolint:gosec // a small constant
	dst = binary.AppendUvarint(dst, uint64(len(body)))
	return append(dst, body...)
}

func text(dst []byte, field int, s string) []byte {
	if s == "" {
		return dst
	}
	return message(dst, field, []byte(s))
}

func number(dst []byte, field int, n uint64) []byte {
	if n == 0 {
		return dst
	}
	dst = binary.AppendUvarint(dst, uint64(field)<<3|varint) //nolint:gosec // a small constant
	return binary.AppendUvarint(dst, n)
}

func instant(dst []byte, field int, t time.Time) []byte {
	dst = binary.AppendUvarint(dst, uint64(field)<<3|fixed64)          //nolint:gosec // a small constant
	return binary.LittleEndian.AppendUint64(dst, uint64(t.UnixNano())) //nolint:gosec // after 1970
}
