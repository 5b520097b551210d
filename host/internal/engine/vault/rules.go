package vault

import (
	"encoding/base64"
	"errors"
	"slices"
	"strings"
)

// The parts of a request in which a substitution looks for its placeholder.
const (
	InPath   = "path"
	InQuery  = "query"
	InHeader = "header"
	InBody   = "body"
)

// Request is what a binding is chosen by.
type Request struct {
	Scheme string
	Host   string // a name in lower case, without a last dot
	Port   int
	Method string
	Path   string // as it was sent, without the query
}

// Injection is what a request gets.
type Injection struct {
	// Binding is its name.
	Binding       string
	Headers       []InjectedHeader
	Substitutions []InjectedText

	match Match
}

// InjectedHeader is set in place of every header of that name.
type InjectedHeader struct {
	Name  string
	Value Value
}

// InjectedText replaces a placeholder in some parts of the request.
type InjectedText struct {
	Placeholder string
	Value       Value
	In          []string
}

// Rules are the bindings of one revision with their values. They don't change.
type Rules struct {
	// Revision is the vault's; 0 is none.
	Revision int64
	// Secrets are the values that must not come back from a host: those of the credentials, those that
	// they had before, and what is inside of an encoded one.
	Secrets []Value

	bindings []Injection // by name
}

// ErrAmbiguous tells that two bindings are for the same request.
var ErrAmbiguous = errors.New("credential binding ambiguous")

// Select chooses the binding of a request: nil is none. A host's own binding comes before one with a
// wildcard.
func (r *Rules) Select(q Request) (*Injection, error) {
	var found *Injection
	best, count := 0, 0
	for i := range r.bindings {
		b := &r.bindings[i]
		rank := b.match.host(q.Host)
		if rank == 0 || rank < best || !b.match.matches(q) {
			continue
		}
		if rank > best {
			best, count = rank, 0
		}
		found, count = b, count+1
	}
	if count > 1 {
		return nil, ErrAmbiguous
	}
	return found, nil
}

// Empty tells whether there are no bindings at all.
func (r *Rules) Empty() bool { return len(r.bindings) == 0 }

// Bound tells whether any binding is for a host, a name in its canonical form.
func (r *Rules) Bound(host string) bool {
	return slices.ContainsFunc(r.bindings, func(b Injection) bool { return b.match.host(host) > 0 })
}

// host is how closely it names a host: 0 not at all, 1 by a wildcard, 2 by its name.
func (m *Match) host(name string) int {
	best := 0
	for _, h := range m.Hosts {
		switch below, wild := strings.CutPrefix(h, "*"); {
		case !wild && h == name:
			return 2
		case wild && strings.HasSuffix(name, below):
			best = 1
		}
	}
	return best
}

// matches looks at all but the host.
func (m *Match) matches(q Request) bool {
	return slices.Contains(m.Schemes, q.Scheme) && slices.Contains(m.Ports, q.Port) && slices.Contains(m.Methods, q.Method) &&
		slices.ContainsFunc(m.Paths, func(pattern string) bool { return pathMatches(pattern, q.Path) })
}

func pathMatches(pattern, path string) bool {
	prefix, open := strings.CutSuffix(pattern, "*")
	return open && strings.HasPrefix(path, prefix) || path == pattern
}

// overlap tells whether one request could be for both, and neither comes first.
func (m *Match) overlap(o *Match) bool {
	return common(m.Schemes, o.Schemes) && common(m.Ports, o.Ports) && common(m.Methods, o.Methods) &&
		pairs(m.Paths, o.Paths, pathsOverlap) && pairs(m.Hosts, o.Hosts, hostsOverlap)
}

func common[T comparable](a, b []T) bool {
	return pairs(a, b, func(x, y T) bool { return x == y })
}

func pairs[T any](a, b []T, f func(x, y T) bool) bool {
	for _, x := range a {
		for _, y := range b {
			if f(x, y) {
				return true
			}
		}
	}
	return false
}

func pathsOverlap(a, b string) bool {
	pa, openA := strings.CutSuffix(a, "*")
	pb, openB := strings.CutSuffix(b, "*")
	switch {
	case openA && openB:
		return strings.HasPrefix(pa, pb) || strings.HasPrefix(pb, pa)
	default:
		return a == b || pathMatches(a, b) || pathMatches(b, a)
	}
}

func hostsOverlap(a, b string) bool {
	sa, wildA := strings.CutPrefix(a, "*")
	sb, wildB := strings.CutPrefix(b, "*")
	if wildA != wildB {
		return false // the one without a wildcard comes first
	}
	return a == b || wildA && (strings.HasSuffix(sa, sb) || strings.HasSuffix(sb, sa))
}

// injection fills a binding with values.
func (b Binding) injection(values map[string]Value) Injection {
	out := Injection{Binding: b.Name, match: b.Match}
	set := func(name, prefix, credential string) {
		out.Headers = append(out.Headers, InjectedHeader{name, Value(prefix) + values[credential]})
	}
	switch b.Auth.Type {
	case authBearer:
		set("Authorization", "Bearer ", b.Auth.Credential)
	case authBasic:
		set("Authorization", "Basic ", b.Auth.Credential)
	case authAPIKey:
		set(b.Auth.Name, "", b.Auth.Credential)
	case authHeaders:
		for _, h := range b.Auth.Headers {
			set(h.Name, "", h.Credential)
		}
	}
	for _, s := range b.Auth.Substitutions {
		out.Substitutions = append(out.Substitutions, InjectedText{s.Placeholder, values[s.Credential], s.In})
	}
	return out
}

// inside are the secrets in a value that is already encoded: user and password of basic auth.
func inside(v Value) []Value {
	b, err := base64.StdEncoding.DecodeString(string(v))
	if err != nil {
		return nil
	}
	out := []Value{Value(b)}
	if _, password, ok := strings.Cut(string(b), ":"); ok && password != "" {
		out = append(out, Value(password))
	}
	return out
}
