package plugin

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/alineo-labs/alineo-host/abi"
)

// Kind says what went wrong with a plugin.
type Kind uint8

// Kinds. After those marked with *, the guest had the request and may have acted on it.
const (
	KindGuest         Kind = iota + 1 // the guest's own answer; the *abi.Error says what
	KindDigest                        // the module is not the one that was pinned, or none was
	KindLoad                          // not a module, or one that this host refuses
	KindMissingExport                 // the module lacks a function or memory of the ABI
	KindSignature                     // an import or export has the wrong type
	KindImport                        // the module wants a function that this host does not have
	KindStart                         // an instance could not be made
	KindGrant                         // the guest wants what alineo.toml does not grant
	KindConfig                        // the guest refused its configuration; a *ConfigError
	KindTrap                          // * the guest crashed
	KindMemory                        // * the guest crashed for want of memory, or needs more to start
	KindDeadline                      // * time ran out
	KindCanceled                      // * the caller gave up
	KindProtocol                      // * what the guest sent breaks the ABI
	KindTooLarge                      // * a module, request or response is above its limit
	KindBusy                          // no instance came free in time
	KindFailed                        // the plugin crashed too often, or lost its state
	KindClosed                        // the plugin was closed
)

var kindNames = [...]string{
	"unknown", "guest", "digest", "load", "missing_export", "signature", "import", "start", "grant", "config",
	"trap", "memory", "deadline", "canceled", "protocol", "too_large", "busy", "failed", "closed",
}

// String returns the kind's name.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return kindNames[0]
}

// word says in a span what went wrong. That something is not there is often no fault.
func (e *Error) word() string {
	guest, ok := errors.AsType[*abi.Error](e.Err)
	switch {
	case e.Kind != KindGuest || !ok:
		return e.Kind.String()
	case guest.Code == abi.CodeNotFound:
		return ""
	}
	return guest.Code.String()
}

// Error is what every method of a Runtime and a Plugin returns.
type Error struct {
	Plugin string
	Op     abi.Op // 0 while loading and closing
	Kind   Kind
	Sent   bool   // the guest had the request and may have acted on it
	Err    error  // a sentence; wraps an *abi.Error, *ConfigError or context error where there is one
	Trace  string // the guest's stack when it crashed, one function a line, innermost first

	blameless bool // the caller ended the call
}

// Error names the plugin, the operation and what happened.
func (e *Error) Error() string {
	what := "load"
	switch {
	case e.Op != 0:
		what = e.Op.String()
	case e.Kind == KindClosed:
		what = "close"
	}
	return fmt.Sprintf("plugin %q: %s: %v", e.Plugin, what, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// IsKind says whether err is or wraps an Error of one of these kinds.
func IsKind(err error, kinds ...Kind) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && slices.Contains(kinds, e.Kind)
}

// broken says that the instance that this is the end of must not be used again.
func (e *Error) broken() bool { return e != nil && e.Sent && e.Kind != KindGuest }

// unsupported says that the guest does not have the operation.
func (e *Error) unsupported() bool {
	guest, ok := errors.AsType[*abi.Error](e.Err)
	return ok && guest.Code == abi.CodeUnsupported
}

// What is kept of a guest's error: it ends up in logs and on terminals, and errors live long.
const (
	maxMessage = 4 << 10 // bytes, also of a detail
	maxDetails = 16
)

// tidy cuts a guest's error to size and takes out what a terminal would obey.
func tidy(e *abi.Error) {
	e.Message = tidyText(e.Message)
	if len(e.Details) == 0 {
		return
	}
	details := make(map[string]string, min(len(e.Details), maxDetails))
	for _, key := range slices.Sorted(maps.Keys(e.Details)) {
		if len(details) == maxDetails {
			break
		}
		details[tidyText(key)] = tidyText(e.Details[key])
	}
	e.Details = details
}

func tidyText(text string) string {
	const mark = "…"
	if len(text) > maxMessage {
		text = text[:maxMessage-len(mark)] + mark
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(strings.Clone(text), "?"))
}

// ConfigError is a configuration that the guest, or the schema in its manifest, refused.
type ConfigError struct {
	Diagnostics []abi.Diagnostic // by key below [plugins.NAME.config]
}

// Error lists every complaint.
func (e *ConfigError) Error() string {
	lines := make([]string, len(e.Diagnostics))
	for i, d := range e.Diagnostics {
		if lines[i] = d.Message; d.Key != "" {
			lines[i] = d.Key + ": " + d.Message
		}
	}
	return "the configuration is refused: " + strings.Join(lines, "; ")
}

// fault is an end of a call that breaks the ABI or a limit. Host functions panic with it.
type fault struct {
	kind      Kind
	err       error
	blameless bool // the caller's doing, not the guest's
}

func (f *fault) Error() string { return f.err.Error() }

func (f *fault) Unwrap() error { return f.err }

func faultf(kind Kind, format string, args ...any) *fault {
	return &fault{kind: kind, err: fmt.Errorf(format, args...)}
}
