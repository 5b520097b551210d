package brokertest

import (
	"strings"

	"github.com/alineo-labs/alineo-host/host/credential"
)

func resolveCases() []Case {
	return []Case{
		{"resolve/undeclared", "a broker that does not declare Resolve answers ErrUnsupported", resolveUndeclared},
		{"resolve/known", "what a reference leads to is found, byte for byte", resolveKnown},
		{"resolve/unknown", "a reference that leads nowhere is an error, and never a value", resolveUnknown},
		{"resolve/rotated", "a value that was rotated is the new one", resolveRotated},
	}
}

func resolveUndeclared(e *env) {
	if e.Features().Resolve {
		e.Skipf("not run: the broker declares Resolve")
	}
	_, err := e.Resolve(e.ctx, "key", credential.Source{Type: credential.SourceExternal, Ref: "anything"})
	e.wantErr("resolving", err, credential.ErrUnsupported)
}

func (e *env) needValues() {
	if !e.Features().Resolve {
		e.Skipf("not run: the broker does not declare Resolve")
	}
	if len(e.bench.Values) == 0 {
		e.Skipf("not run: no reference is known that leads to a value")
	}
}

// resolves checks that a reference leads to a value.
func (e *env) resolves(reference, want string) {
	e.Helper()
	got, err := e.Resolve(e.ctx, "key", credential.Source{Type: credential.SourceExternal, Ref: reference})
	e.must("resolving "+reference, err)
	if got.Value.Reveal() != want {
		e.Errorf("%s leads to %d bytes, want %d (%q)", reference, len(got.Value.Reveal()), len(want), clip(want))
	}
}

func resolveKnown(e *env) {
	e.needValues()
	for reference, want := range e.bench.Values {
		e.resolves(reference, want)
		e.resolves(reference, want)
	}
}

func resolveUnknown(e *env) {
	if !e.Features().Resolve {
		e.Skipf("not run: the broker does not declare Resolve")
	}
	for _, reference := range []string{"", "nonsense", "nonsense:", ":", "secret:", "secret:nobody-knows", "file:/etc/passwd", "env:HOME", strings.Repeat("x", 10_000)} {
		got, err := e.Resolve(e.ctx, "key", credential.Source{Type: credential.SourceExternal, Ref: reference})
		if err == nil {
			e.Errorf("the reference %q leads to %d bytes", clip(reference), len(got.Value.Reveal()))
			continue
		}
		e.wantErr("resolving "+clip(reference), err, credential.ErrNotFound, credential.ErrInvalid, credential.ErrDenied)
	}
}

func resolveRotated(e *env) {
	e.needValues()
	if e.bench.Rotate == nil {
		e.Skipf("not run: nothing can be rotated")
	}
	for reference, first := range e.bench.Values {
		e.resolves(reference, first)
		e.must("rotating "+reference, e.bench.Rotate(reference, "rotated-value"))
		e.resolves(reference, "rotated-value")
	}
}
