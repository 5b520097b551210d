package nativebroker

import (
	"net/http"
	"slices"

	"github.com/alineo-labs/alineo-host/host/credential"
)

// The documents of a sidecar's vault.

type object = map[string]any

type state struct {
	Revision    *int64
	Credentials []credentialState
	Bindings    []bindingState
}

type credentialState struct{ Name string }

type bindingState struct {
	Name  string
	Match struct {
		Schemes, Hosts, Methods, Paths []string
		Ports                          []int
	}
	Auth struct{ Type, Name string }
}

func (s *state) has(name string) (credential, binding bool) {
	return slices.ContainsFunc(s.Credentials, func(c credentialState) bool { return c.Name == name }),
		slices.ContainsFunc(s.Bindings, func(b bindingState) bool { return b.Name == name })
}

func verb(there bool) string {
	if there {
		return "replace"
	}
	return "add"
}

func valueDoc(name, value string) object {
	return object{"name": name, "source": object{"type": "inline", "value": value}}
}

func bindingDoc(name string, b credential.Binding) object {
	match, auth := object{"hosts": b.Hosts}, object{"type": b.Injection.Type, "credential": name}
	for key, list := range map[string][]string{"schemes": b.Schemes, "methods": b.Methods, "paths": b.Paths} {
		if len(list) > 0 {
			match[key] = list
		}
	}
	if len(b.Ports) > 0 {
		match["ports"] = b.Ports
	}
	switch b.Injection.Type {
	case credential.TypeHeader:
		auth["type"], auth["name"] = "apiKey", b.Injection.Header
	case credential.TypeSubstitution:
		auth = object{"type": "passthrough", "substitutions": []object{{"credential": name, "placeholder": b.Injection.Placeholder, "in": b.Injection.In}}}
	case credential.TypeCustomHeaders:
		var headers []object
		for _, h := range b.Injection.Headers {
			if h.Credential == "" {
				h.Credential = name
			}
			headers = append(headers, object{"name": h.Name, "credential": h.Credential})
		}
		auth = object{"type": "customHeaders", "headers": headers}
	}
	return object{"name": name, "match": match, "auth": auth}
}

// binding is what a state says of one, which is not all. What holds unless it is said is left out.
func (b *bindingState) binding() credential.Binding {
	unless := func(list []string, byDefault ...string) []string {
		if slices.Equal(list, byDefault) {
			return nil
		}
		return list
	}
	bound := credential.Binding{
		Hosts: b.Match.Hosts, Paths: unless(b.Match.Paths, "/*"), Schemes: unless(b.Match.Schemes, "https"),
		Methods:   unless(b.Match.Methods, http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete),
		Injection: credential.Injection{Type: b.Auth.Type},
	}
	if !slices.Equal(b.Match.Ports, []int{443}) {
		bound.Ports = b.Match.Ports
	}
	switch b.Auth.Type {
	case "apiKey":
		bound.Injection = credential.Injection{Type: credential.TypeHeader, Header: b.Auth.Name}
	case "passthrough":
		bound.Injection.Type = credential.TypeSubstitution
	}
	return bound
}
