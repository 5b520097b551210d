package brokertest

import (
	"encoding/base64"

	"github.com/alineo-labs/alineo-host/host/credential"
)

func matchCases() []Case {
	return []Case{
		{"match/kinds", "each kind of injection puts the value where it says", matchKinds},
		{"match/others", "custom headers may have the values of other credentials", matchOthers},
		{"match/paths", "a path prefix, an exact path and several of them are what they say", matchPaths},
		{"match/rest", "methods, schemes, ports and wildcards narrow or widen what matches", matchRest},
		{"match/refused", "a host that the sandbox's policy does not allow is refused, and nothing is bound", matchRefused},
	}
}

func matchKinds(e *env) {
	s := e.sidecar(SidecarOptions{})
	e.set(s, "header", "value-h", credential.Header("h.example", "", "x-api-key"))
	e.header(s, Request{Host: "h.example"}, "X-Api-Key", "value-h")
	e.set(s, "bearer", "value-t", credential.Bearer("t.example"))
	e.header(s, Request{Host: "t.example"}, "Authorization", "Bearer value-t")
	basic := credential.Binding{Hosts: []string{"b.example"}, Injection: credential.Injection{Type: credential.TypeBasic}}
	e.must("setting basic", e.Set(e.ctx, s.Sandbox(), "basic", credential.BasicSecret("ann", "pa:ss"), basic))
	e.header(s, Request{Host: "b.example"}, "Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("ann:pa:ss")))
	e.set(s, "placed", "value-p", credential.Substitution("p.example", "", "<KEY>", credential.InPath, credential.InQuery, credential.InBody))
	given, err := s.Request(Request{Host: "p.example"})
	e.must("asking what a request gets", err)
	e.equal("the text in the place of the placeholder", given.Texts, map[string]string{"<KEY>": "value-p"})
}

func matchOthers(e *env) {
	s := e.sidecar(SidecarOptions{})
	e.set(s, "other", "value-o", keyed("elsewhere.example"))
	e.set(s, "key", "value-k", credential.Binding{Hosts: []string{"a.example"}, Injection: credential.Injection{
		Type: credential.TypeCustomHeaders, Headers: []credential.HeaderValue{{Name: "X-Own"}, {Name: "X-Other", Credential: "other"}},
	}})
	e.header(s, Request{Host: "a.example"}, "X-Own", "value-k")
	e.header(s, Request{Host: "a.example"}, "X-Other", "value-o")
	value := credential.NewSecret("value-p")
	e.must("changing the other", e.Patch(e.ctx, s.Sandbox(), "other", credential.Change{Value: &value}))
	e.header(s, Request{Host: "a.example"}, "X-Other", "value-p")
	e.header(s, Request{Host: "a.example"}, "X-Own", "value-k")
}

func matchPaths(e *env) {
	s := e.sidecar(SidecarOptions{})
	e.set(s, "prefix", "v", credential.Header("a.example", "/v1", "X-Api-Key"))
	exact := keyed("b.example")
	exact.Paths = []string{"/v1", "/v2/*"}
	e.set(s, "exact", "v", exact)
	for _, c := range []struct{ host, path, want string }{
		{"a.example", "/v1", "v"},
		{"a.example", "/v1/x", "v"},
		{"a.example", "/v2", ""},
		{"a.example", "/", ""},
		{"b.example", "/v1", "v"},
		{"b.example", "/v1/x", ""},
		{"b.example", "/v2/x", "v"},
		{"b.example", "/v2", ""},
	} {
		e.header(s, Request{Host: c.host, Path: c.path}, "X-Api-Key", c.want)
	}
}

func matchRest(e *env) {
	s := e.sidecar(SidecarOptions{})
	narrow := keyed("a.example")
	narrow.Methods = []string{"GET"}
	e.set(s, "narrow", "v", narrow)
	wide := keyed("*.b.example")
	wide.Schemes, wide.Ports = []string{"http", "https"}, []int{80, 443}
	e.set(s, "wide", "v", wide)
	for _, c := range []struct {
		q    Request
		want string
	}{
		{Request{Host: "a.example", Method: "GET"}, "v"},
		{Request{Host: "a.example", Method: "POST"}, ""},
		{Request{Host: "a.example", Scheme: "http"}, ""},
		{Request{Host: "x.b.example", Method: "DELETE"}, "v"},
		{Request{Host: "x.b.example", Scheme: "http"}, "v"},
		{Request{Host: "b.example"}, ""},
	} {
		e.header(s, c.q, "X-Api-Key", c.want)
	}
}

func matchRefused(e *env) {
	s := e.sidecar(SidecarOptions{Hosts: []string{"a.example"}})
	e.set(s, "key", "value-1", keyed("a.example"))
	err := e.Set(e.ctx, s.Sandbox(), "other", credential.NewSecret("value-2"), keyed("b.example"))
	e.wantErr("binding to a host that is not allowed", err, credential.ErrInvalid)
	e.equal("what is bound", names(e.list(s)), map[string]bool{"key": true})
	e.header(s, Request{Host: "a.example"}, "X-Api-Key", "value-1")
}
