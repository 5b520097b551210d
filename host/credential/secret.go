package credential

import (
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
)

// Redacted is what stands where a secret would.
const Redacted = "[redacted]"

// Secret is a value that must not be printed. Every verb of fmt, JSON, text encodings and slog show
// Redacted in its place; only Reveal gives it away. It is safe for concurrent use.
type Secret struct {
	// A pointer, because fmt prints unexported fields of other structs without asking their methods:
	// all that it finds here is an address.
	text *string
}

// NewSecret wraps a value. An empty one is a value too; the zero Secret is none.
func NewSecret(value string) Secret { return Secret{text: &value} }

// BasicSecret is the value that the injection TypeBasic takes: user and password in base64.
func BasicSecret(user, password string) Secret {
	return NewSecret(base64.StdEncoding.EncodeToString([]byte(user + ":" + password)))
}

// Reveal returns the value itself, empty when there is none.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsSet says whether there is a value, be it empty.
func (s Secret) IsSet() bool { return s.text != nil }

// String is Redacted, also when there is no value.
func (s Secret) String() string { return Redacted }

// GoString is String, for %#v.
func (s Secret) GoString() string { return Redacted }

// Format is String for every verb.
func (s Secret) Format(f fmt.State, _ rune) {
	// fmt.State never fails to take bytes, and a Formatter has nowhere to report it.
	_, _ = io.WriteString(f, Redacted)
}

// MarshalText is String; encoding/json uses it too.
func (s Secret) MarshalText() ([]byte, error) { return []byte(Redacted), nil }

// LogValue is String, for slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(Redacted) }
