package egressvault

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// credential is the document of a credential, with a place for the value.
func credential(name string, value uint64) []abi.HTTPPart {
	return []abi.HTTPPart{
		alineo.Literal(`{"name":` + quote(name) + `,"source":{"type":"inline","value":"`), alineo.Secret(value).JSON(), alineo.Literal(`"}}`),
	}
}

type bindingDoc struct {
	Name  string   `json:"name"`
	Match matchDoc `json:"match"`
	Auth  authDoc  `json:"auth"`
}

type matchDoc struct {
	Schemes []string `json:"schemes,omitempty"`
	Ports   []uint64 `json:"ports,omitempty"`
	Hosts   []string `json:"hosts"`
	Methods []string `json:"methods,omitempty"`
	Paths   []string `json:"paths,omitempty"`
}

type authDoc struct {
	Type          string            `json:"type"`
	Name          string            `json:"name,omitempty"`
	Credential    string            `json:"credential,omitempty"`
	Headers       []headerDoc       `json:"headers,omitempty"`
	Substitutions []substitutionDoc `json:"substitutions,omitempty"`
}

type headerDoc struct {
	Name       string `json:"name"`
	Credential string `json:"credential"`
}

type substitutionDoc struct {
	Credential  string   `json:"credential"`
	Placeholder string   `json:"placeholder"`
	In          []string `json:"in"`
}

// binding is the document of a binding, which is called as its credential is.
func binding(name string, b *abi.Binding) string {
	doc := bindingDoc{
		Name:  name,
		Match: matchDoc{Schemes: b.Schemes, Ports: b.Ports, Hosts: b.Hosts, Methods: b.Methods, Paths: b.Paths},
		Auth:  authDoc{Type: b.Auth, Credential: name},
	}
	switch b.Auth {
	case abi.AuthAPIKey:
		doc.Auth.Name = b.Header
	case abi.AuthCustomHeaders:
		doc.Auth.Credential = ""
		for _, h := range b.Headers {
			of := h.Credential
			if of == "" {
				of = name
			}
			doc.Auth.Headers = append(doc.Auth.Headers, headerDoc{Name: h.Name, Credential: of})
		}
	case abi.AuthPassthrough:
		doc.Auth.Credential = ""
		for _, s := range b.Substitutions {
			doc.Auth.Substitutions = append(doc.Auth.Substitutions, substitutionDoc{Credential: name, Placeholder: s.Placeholder, In: s.In})
		}
	}
	return encode(doc)
}

// section is one list of a mutation: what is there is replaced, what isn't is added.
func section(there bool, element []abi.HTTPPart) []abi.HTTPPart {
	verb := `"add":[`
	if there {
		verb = `"replace":[`
	}
	return slices.Concat([]abi.HTTPPart{alineo.Literal(verb)}, element, []abi.HTTPPart{alineo.Literal(`]`)})
}

// mutation is the document of a change; a section that is nil is left out.
func mutation(st *state, credentials, bindings []abi.HTTPPart) []abi.HTTPPart {
	body := []abi.HTTPPart{alineo.Literal(`{"expectedRevision":` + strconv.FormatInt(st.Revision, 10))}
	for _, s := range [...]struct {
		key  string
		list []abi.HTTPPart
	}{{"credentials", credentials}, {"bindings", bindings}} {
		if s.list != nil {
			body = slices.Concat(body, []abi.HTTPPart{alineo.Literal(`,"` + s.key + `":{`)}, s.list, []abi.HTTPPart{alineo.Literal(`}`)})
		}
	}
	return append(body, alineo.Literal(`}`))
}

// state is what a sidecar tells of its vault.
type state struct {
	Revision    int64        `json:"revision"`
	Credentials []named      `json:"credentials"`
	Bindings    []bindingDoc `json:"bindings"`
}

type named struct {
	Name string `json:"name"`
}

// read returns the state, nil when there is no vault.
func (v *Vault) read(egress uint64) (*state, error) {
	reply, err := v.send(egress, "GET", nil)
	if err != nil {
		return nil, err
	}
	if reply.Status == statusNotFound {
		return nil, nil
	}
	if err := failure(reply); err != nil {
		return nil, err
	}
	st := new(state)
	if err := json.Unmarshal(reply.Body, st); err != nil {
		return nil, &abi.Error{Code: abi.CodeUnavailable, Message: "the sandbox's egress sidecar answers with something that is no credential vault"}
	}
	return st, nil
}

func (s *state) credential(name string) bool {
	return slices.ContainsFunc(s.Credentials, func(c named) bool { return c.Name == name })
}

func (s *state) binding(name string) bool {
	return slices.ContainsFunc(s.Bindings, func(b bindingDoc) bool { return b.Name == name })
}

// list is the state as bindings. What a sidecar fills in for what was not said is left out again.
func (s *state) list() *abi.BrokerListReply {
	reply := &abi.BrokerListReply{}
	for i := range s.Bindings {
		b := &s.Bindings[i]
		one := abi.NamedBinding{Name: b.Name, Binding: abi.Binding{
			Schemes: unless(b.Match.Schemes, "https"), Hosts: b.Match.Hosts, Paths: unless(b.Match.Paths, "/*"),
			Methods: unless(b.Match.Methods, "GET", "POST", "PUT", "PATCH", "DELETE"), Auth: b.Auth.Type, Header: b.Auth.Name,
		}}
		if !slices.Equal(b.Match.Ports, []uint64{443}) {
			one.Binding.Ports = b.Match.Ports
		}
		for _, h := range b.Auth.Headers {
			one.Binding.Headers = append(one.Binding.Headers, abi.AuthHeader{Name: h.Name, Credential: h.Credential})
		}
		for _, p := range b.Auth.Substitutions {
			one.Binding.Substitutions = append(one.Binding.Substitutions, abi.Substitution{Placeholder: p.Placeholder, In: p.In})
		}
		one.Partial = b.Auth.Type == abi.AuthCustomHeaders && len(one.Binding.Headers) == 0 ||
			b.Auth.Type == abi.AuthPassthrough && len(one.Binding.Substitutions) == 0
		reply.Bindings = append(reply.Bindings, one)
	}
	slices.SortFunc(reply.Bindings, func(a, b abi.NamedBinding) int { return strings.Compare(a.Name, b.Name) })
	return reply
}

// unless returns list, or nothing when it is the default.
func unless(list []string, byDefault ...string) []string {
	if slices.Equal(list, byDefault) {
		return nil
	}
	return list
}

func quote(text string) string { return encode(text) }

// encode writes JSON; what it is given here can always be written.
func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}
