package vault

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Value is a secret. It never prints.
type Value string

// String implements fmt.Stringer.
func (Value) String() string { return "[redacted]" }

// GoString implements fmt.GoStringer.
func (Value) GoString() string { return "[redacted]" }

// Format implements fmt.Formatter, for the verbs that don't ask String.
func (Value) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "[redacted]") }

// MarshalJSON implements json.Marshaler.
func (Value) MarshalJSON() ([]byte, error) { return []byte(`"[redacted]"`), nil }

// The documents of the wire. Unknown fields are refused in all of them.

// Credential is a named secret.
type Credential struct {
	Name   string `json:"name"`
	Source Source `json:"source"`
}

// Source is where its value comes from: of the request itself, "inline", alone.
type Source struct {
	Type  string `json:"type"`
	Value Value  `json:"value"`
}

// Match says which requests a binding is for.
type Match struct {
	Schemes []string `json:"schemes"`
	Ports   []int    `json:"ports"`
	Hosts   []string `json:"hosts"`
	Methods []string `json:"methods"`
	Paths   []string `json:"paths"`
}

// Auth says what such a request gets.
type Auth struct {
	Type          string         `json:"type"`
	Credential    string         `json:"credential"`
	Name          string         `json:"name"`
	Headers       []Header       `json:"headers"`
	Substitutions []Substitution `json:"substitutions"`
}

// Header is one of several that are set.
type Header struct {
	Name       string `json:"name"`
	Credential string `json:"credential"`
}

// Substitution puts a credential in place of a text of the request.
type Substitution struct {
	Credential  string   `json:"credential"`
	Placeholder string   `json:"placeholder"`
	In          []string `json:"in"`
}

// Binding ties credentials to requests.
type Binding struct {
	Name  string `json:"name"`
	Match Match  `json:"match"`
	Auth  Auth   `json:"auth"`
}

// CreateRequest makes a vault.
type CreateRequest struct {
	Credentials []Credential `json:"credentials"`
	Bindings    []Binding    `json:"bindings"`
}

// Mutation changes one, as a whole or not at all.
type Mutation struct {
	// ExpectedRevision is the revision that is to be changed; nil is whichever there is.
	ExpectedRevision *int64               `json:"expectedRevision"`
	Credentials      *changes[Credential] `json:"credentials"`
	Bindings         *changes[Binding]    `json:"bindings"`
}

type changes[T any] struct {
	Add     []T      `json:"add"`
	Replace []T      `json:"replace"`
	Delete  []string `json:"delete"`
}

// State is what may be seen of a vault.
type State struct {
	Revision    int64             `json:"revision"`
	Credentials []CredentialState `json:"credentials"`
	Bindings    []BindingState    `json:"bindings"`
}

// CredentialState is what may be seen of a credential.
type CredentialState struct {
	Name       string `json:"name"`
	SourceType string `json:"sourceType"`
	Revision   int64  `json:"revision"`
}

// BindingState is what may be seen of a binding.
type BindingState struct {
	Name     string    `json:"name"`
	Revision int64     `json:"revision"`
	Match    Match     `json:"match"`
	Auth     AuthState `json:"auth"`
}

// AuthState is what may be seen of an Auth.
type AuthState struct {
	Type string `json:"type"`
	Name string `json:"name,omitempty"`
}

// Decode reads one JSON document into v, strictly.
func Decode(b []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return plain(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is something after the document")
	}
	return nil
}

// plain takes what a client wrote out of an error, for it may be a part of a value.
func plain(err error) error {
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("malformed JSON at byte %d", e.Offset)
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("json: %s is not of the type %s", e.Field, e.Type)
	}
	return err
}
