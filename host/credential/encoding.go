package credential

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// The JSON of a binding has one of two forms:
//
//	{"host":"api.example.com","pathPrefix":"/v1","injection":{"type":"header","name":"X-Api-Key"}}
//	{"match":{"hosts":["api.example.com"],"methods":["GET"]},"injection":{"type":"bearer"}}
//
// The first is the reference's, and is written whenever it says all that there is to say about which
// requests match. The second has no host, so that a reader who doesn't know it refuses it: one that
// overlooked match would give the credential to more requests than it is for.

type bindingJSON struct {
	Host       string     `json:"host,omitempty"`
	PathPrefix string     `json:"pathPrefix,omitempty"`
	Match      *matchJSON `json:"match,omitempty"`
	Injection  Injection  `json:"injection"`
}

type matchJSON struct {
	Schemes []string `json:"schemes,omitempty"`
	Ports   []int    `json:"ports,omitempty"`
	Hosts   []string `json:"hosts"`
	Methods []string `json:"methods,omitempty"`
	Paths   []string `json:"paths,omitempty"`
}

type injectionJSON struct {
	Type        string        `json:"type"`
	Name        string        `json:"name,omitempty"`
	Placeholder string        `json:"placeholder,omitempty"`
	In          []string      `json:"in,omitempty"`
	Headers     []HeaderValue `json:"headers,omitempty"`
}

// MarshalJSON writes the reference's form where that says everything.
func (b Binding) MarshalJSON() ([]byte, error) {
	form := bindingJSON{Injection: b.Injection}
	prefix, plain := b.prefix()
	if plain {
		form.Host, form.PathPrefix = b.Hosts[0], prefix
	} else {
		form.Match = &matchJSON{Schemes: b.Schemes, Ports: b.Ports, Hosts: b.Hosts, Methods: b.Methods, Paths: b.Paths}
		if form.Match.Hosts == nil {
			form.Match.Hosts = []string{}
		}
	}
	return encode(form)
}

// prefix returns the path prefix of a binding that the reference's form can say.
func (b Binding) prefix() (prefix string, ok bool) {
	if len(b.Hosts) != 1 || len(b.Paths) > 1 || len(b.Methods)+len(b.Schemes)+len(b.Ports) > 0 {
		return "", false
	}
	if len(b.Paths) == 0 {
		return "", true
	}
	prefix, ok = strings.CutSuffix(b.Paths[0], "*")
	// A slash alone is written as no prefix, and read back as one: they match the same.
	return prefix, ok && prefix != ""
}

// UnmarshalJSON reads both forms. Keys that it doesn't know are passed over, except in match, where
// they would narrow what matches.
func (b *Binding) UnmarshalJSON(data []byte) error {
	var form bindingJSON
	var match struct {
		Match json.RawMessage `json:"match"`
	}
	if err := json.Unmarshal(data, &match); err != nil {
		return fmt.Errorf("reading binding: %w", err)
	}
	if err := json.Unmarshal(data, &form); err != nil {
		return fmt.Errorf("reading binding: %w", err)
	}
	*b = Binding{Injection: form.Injection}
	if form.Match == nil {
		b.Paths = prefixPaths(form.PathPrefix)
		if form.Host != "" {
			b.Hosts = []string{form.Host}
		}
		return nil
	}
	if form.Host != "" || form.PathPrefix != "" {
		return fmt.Errorf("reading binding: %w: it has both match and host or pathPrefix", ErrInvalid)
	}
	decoder := json.NewDecoder(bytes.NewReader(match.Match))
	decoder.DisallowUnknownFields()
	var strict matchJSON
	if err := decoder.Decode(&strict); err != nil {
		return fmt.Errorf("reading binding: match: %w", err)
	}
	b.Schemes, b.Ports, b.Hosts, b.Methods, b.Paths = strict.Schemes, strict.Ports, strict.Hosts, strict.Methods, strict.Paths
	return nil
}

// MarshalJSON writes the keys of the injection's type.
func (i Injection) MarshalJSON() ([]byte, error) {
	return encode(injectionJSON{Type: i.Type, Name: i.Header, Placeholder: i.Placeholder, In: i.In, Headers: i.Headers})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (i *Injection) UnmarshalJSON(data []byte) error {
	var form injectionJSON
	if err := json.Unmarshal(data, &form); err != nil {
		return fmt.Errorf("reading injection: %w", err)
	}
	*i = Injection{Type: form.Type, Header: form.Name, Placeholder: form.Placeholder, In: form.In, Headers: form.Headers}
	return nil
}

// encode is json.Marshal with < > & left alone, as other writers of the ledger do.
func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}
