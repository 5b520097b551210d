package config

import (
	"fmt"
	"io"
	"log/slog"
)

// redacted stands wherever a secret would.
const redacted = "[redacted]"

// Secret is text that must not be printed. Every verb of fmt, JSON, text encodings and slog show
// "[redacted]" in its place; only Reveal gives it away.
type Secret struct {
	// A pointer, because fmt prints unexported fields of other structs without asking their methods:
	// all that it finds here is an address.
	text *string
}

// NewSecret wraps text; empty text is an unset secret.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{text: &text}
}

// Reveal returns the text itself, empty when unset.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsSet says whether there is a secret.
func (s Secret) IsSet() bool { return s.text != nil }

// String is "[redacted]", also when unset.
func (s Secret) String() string { return redacted }

// GoString is String, for %#v.
func (s Secret) GoString() string { return redacted }

// Format is String for every verb.
func (s Secret) Format(f fmt.State, _ rune) {
	// fmt.State never fails to take bytes, and a Formatter has nowhere to report it.
	_, _ = io.WriteString(f, redacted)
}

// MarshalText is String; encoding/json uses it too.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue is String, for slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }
