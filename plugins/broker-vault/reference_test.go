package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/abi"
)

func TestReferences(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		ref     reference
		escaped string
		pointer string
	}{
		"secret/ci#token":              {reference{path: "secret/ci", key: "token"}, "secret/ci", "/data/token"},
		"/secret/a b/ü/#to/ken~":       {reference{path: "secret/a b/ü", key: "to/ken~"}, "secret/a%20b/%C3%BC", "/data/to~1ken~0"},
		"secret/ci?version=12#/a/0":    {reference{path: "secret/ci", key: "/a/0", version: 12}, "secret/ci", "/data/a/0"},
		"database/creds/role#password": {reference{path: "database/creds/role", key: "password"}, "database/creds/role", "/data/password"},
		"secret/with#hash#key":         {reference{path: "secret/with#hash", key: "key"}, "secret/with%23hash", "/data/key"},
	} {
		got, err := parseReference(text)
		if err != nil || got != want.ref || escapePath(got.path) != want.escaped || got.pointer("/data") != want.pointer {
			t.Errorf("%s is %+v, %v (%s, %s)", text, got, err, escapePath(got.path), got.pointer("/data"))
		}
	}
}

// FuzzReference: a reference that is accepted leads below its mount and nowhere else.
func FuzzReference(f *testing.F) {
	for _, text := range []string{"secret/ci#token", "a/../b#c", "a/b?version=1#c", "a//b#c", "#", "a/b?x#c", "a/%2e%2e/b#c"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ref, err := parseReference(text)
		if err != nil {
			if e, ok := errors.AsType[*abi.Error](err); !ok || e.Code != abi.CodeInvalid {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		escaped := escapePath(ref.path)
		for segment := range strings.SplitSeq(escaped, "/") {
			if segment == "" || segment == "." || segment == ".." {
				t.Errorf("%q leads to %q", text, escaped)
			}
		}
		if strings.ContainsAny(escaped, "?# \n") || !strings.HasPrefix(ref.pointer("/data"), "/data/") {
			t.Errorf("%q leads to %q, %q", text, escaped, ref.pointer("/data"))
		}
	})
}
