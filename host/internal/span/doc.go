// Package span is how the host's packages tell what they do to OpenTelemetry, when somebody wants to
// know it.
//
//	tracer := span.New(provider) // nil for a nil provider, and then nothing below costs anything
//	ctx, s := tracer.Start(ctx, "sandbox.exec")
//	s.Text(span.Sandbox, id)
//	…
//	s.End(word) // "" when it went well, else a word for what went wrong
//
// Attributes come from a fixed vocabulary, and errors are words from the caller's own list: no text of
// an error goes into a span, because a command, or what it printed, may be in it.
//
// imports: none of ours.
package span
