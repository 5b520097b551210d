package nativebroker

import "github.com/alineo-labs/alineo-host/host/credential"

// The documents of a sidecar's vault.

type secret struct {
	Name   string `json:"name"`
	Source inline `json:"source"`
}

type inline struct {
	Type  string `json:"type"`
	Value string `json:"value"`
}

type vaultBinding struct {
	Name  string `json:"name"`
	Match match  `json:"match"`
	Auth  auth   `json:"auth"`
}

type match struct {
	Schemes []string `json:"schemes,omitempty"`
	Ports   []int    `json:"ports,omitempty"`
	Hosts   []string `json:"hosts"`
	Methods []string `json:"methods,omitempty"`
	Paths   []string `json:"paths,omitempty"`
}

type auth struct {
	Type          string         `json:"type"`
	Credential    string         `json:"credential,omitempty"`
	Name          string         `json:"name,omitempty"`
	Headers       []header       `json:"headers,omitempty"`
	Substitutions []substitution `json:"substitutions,omitempty"`
}

type header struct {
	Name       string `json:"name"`
	Credential string `json:"credential"`
}

type substitution struct {
	Credential  string   `json:"credential"`
	Placeholder string   `json:"placeholder"`
	In          []string `json:"in"`
}

type document struct {
	Credentials []secret       `json:"credentials"`
	Bindings    []vaultBinding `json:"bindings"`
}

type mutation struct {
	ExpectedRevision int64          `json:"expectedRevision"`
	Credentials      *secrets       `json:"credentials,omitempty"`
	Bindings         *vaultBindings `json:"bindings,omitempty"`
}

type secrets struct {
	Add     []secret `json:"add,omitempty"`
	Replace []secret `json:"replace,omitempty"`
	Delete  []string `json:"delete,omitempty"`
}

type vaultBindings struct {
	Add     []vaultBinding `json:"add,omitempty"`
	Replace []vaultBinding `json:"replace,omitempty"`
	Delete  []string       `json:"delete,omitempty"`
}

type state struct {
	Revision    int64          `json:"revision"`
	Credentials []named        `json:"credentials"`
	Bindings    []vaultBinding `json:"bindings"`
}

type named struct {
	Name string `json:"name"`
}

func secretOf(name string, value credential.Secret) secret {
	return secret{Name: name, Source: inline{Type: "inline", Value: value.Reveal()}}
}

func bindingOf(name string, b credential.Binding) vaultBinding {
	out := vaultBinding{Name: name, Match: match{Schemes: b.Schemes, Ports: b.Ports, Hosts: b.Hosts, Methods: b.Methods, Paths: b.Paths}}
	switch i := b.Injection; i.Type {
	case credential.TypeHeader:
		out.Auth = auth{Type: "apiKey", Name: i.Header, Credential: name}
	case credential.TypeSubstitution:
		out.Auth = auth{Type: "passthrough", Substitutions: []substitution{{Credential: name, Placeholder: i.Placeholder, In: i.In}}}
	case credential.TypeCustomHeaders:
		out.Auth.Type = i.Type
		for _, h := range i.Headers {
			of := h.Credential
			if of == "" {
				of = name
			}
			out.Auth.Headers = append(out.Auth.Headers, header{Name: h.Name, Credential: of})
		}
	default:
		out.Auth = auth{Type: i.Type, Credential: name}
	}
	return out
}

// binding is what a state says of one, which is not all.
func (b *vaultBinding) binding() credential.Binding {
	out := credential.Binding{Hosts: b.Match.Hosts, Paths: b.Match.Paths, Methods: b.Match.Methods, Schemes: b.Match.Schemes, Ports: b.Match.Ports}
	switch b.Auth.Type {
	case "apiKey":
		out.Injection = credential.Injection{Type: credential.TypeHeader, Header: b.Auth.Name}
	case "passthrough":
		out.Injection.Type = credential.TypeSubstitution
	default:
		out.Injection.Type = b.Auth.Type
	}
	return out
}
