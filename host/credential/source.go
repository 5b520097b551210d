package credential

import (
	"context"
	"errors"
	"fmt"
)

// Types of sources.
const (
	// SourceEnv is a variable of the host's own environment.
	SourceEnv = "env"
	// SourceExternal is whatever the host has no way to by itself.
	SourceExternal = "external"
)

// Source says where a credential's value came from, never the value. It is recorded beside the
// binding, so that the value can be had again.
type Source struct {
	Type string `json:"type"`
	// VarName is the variable, for SourceEnv.
	VarName string `json:"varName,omitempty"`
	// Ref is, for SourceExternal, what a broker or a resolver knows the value by. It may be empty.
	Ref string `json:"ref,omitempty"`
}

// Env is a source in the host's environment.
func Env(variable string) *Source { return &Source{Type: SourceEnv, VarName: variable} }

// External is a source that is known by ref, which may be empty.
func External(ref string) *Source { return &Source{Type: SourceExternal, Ref: ref} }

// Validate refuses a source that could never be resolved. Its error wraps ErrInvalid.
func (s Source) Validate() error {
	switch {
	case s.Type == SourceEnv && s.VarName == "":
		return fmt.Errorf("%w source: env names no variable", ErrInvalid)
	case s.Type == SourceEnv && s.Ref != "", s.Type == SourceExternal && s.VarName != "":
		return fmt.Errorf("%w source: env has a varName, external a ref, and neither the other", ErrInvalid)
	case s.Type != SourceEnv && s.Type != SourceExternal:
		return fmt.Errorf("%w source: the type %q is neither env nor external", ErrInvalid, s.Type)
	}
	return nil
}

// String names the source.
func (s Source) String() string {
	switch {
	case s.Type == SourceEnv:
		return "environment variable " + s.VarName
	case s.Ref != "":
		return fmt.Sprintf("external source %q", s.Ref)
	case s.Type == SourceExternal:
		return "external source"
	}
	return fmt.Sprintf("source of type %q", s.Type)
}

// Resolver is asked for the value of a credential when the host can't get it by itself. It returns
// the zero Secret when it doesn't know it.
type Resolver func(ctx context.Context, name string, source Source) (Secret, error)

// Resolution is how values are had again: from the host's environment, from the broker, from a
// resolver, in this order.
type Resolution struct {
	// LookupEnv is os.LookupEnv, or in its place what knows the variables. Nil: there are none.
	LookupEnv func(name string) (string, bool)
	// Broker is asked for external sources with a Ref, when it has the feature Resolve.
	Broker Broker
	// Resolver is asked last. It may be nil.
	Resolver Resolver
}

// Resolve returns the value of a bound credential: of a variable that is set, be it to nothing,
// without asking anybody; of an external source with a Ref, from a broker that knows it; else from
// the resolver. A nil source is an external one. When nobody knows it, and when somebody fails, the
// error is an *UnresolvedError: nothing is passed over in silence.
func (r Resolution) Resolve(ctx context.Context, sandboxID, name string, source *Source) (Resolved, error) {
	from := Source{Type: SourceExternal}
	if source != nil {
		from = *source
	}
	failed := func(err error) (Resolved, error) {
		return Resolved{}, &UnresolvedError{Name: name, SandboxID: sandboxID, Source: from, Err: err}
	}
	if from.Type == SourceEnv && r.LookupEnv != nil {
		if value, ok := r.LookupEnv(from.VarName); ok {
			return Resolved{Value: NewSecret(value)}, nil
		}
	}
	if from.Type == SourceExternal && from.Ref != "" && r.Broker != nil && r.Broker.Features().Resolve {
		found, err := r.Broker.Resolve(ctx, name, from)
		switch {
		case err == nil && found.Value.IsSet():
			return found, nil
		case err != nil && !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrUnsupported):
			//nolint:errorlint // one that is wrapped says more
			if of, ok := err.(*Error); ok && of.Name == name {
				err = of.Err // the name is said already
			}
			return failed(fmt.Errorf("%s: %w", from, err))
		}
	}
	if r.Resolver != nil {
		value, err := r.Resolver(ctx, name, from)
		switch {
		case err != nil:
			return failed(fmt.Errorf("%s: the resolver failed: %w", from, err))
		case value.IsSet():
			return Resolved{Value: value}, nil
		}
	}
	switch {
	case from.Type == SourceEnv:
		return failed(fmt.Errorf("%s is not set", from))
	case r.Resolver == nil:
		return failed(fmt.Errorf("%s, and there is no resolver", from))
	}
	return failed(fmt.Errorf("%s, and the resolver doesn't know it", from))
}
