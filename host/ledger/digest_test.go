package ledger_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/ledger"
)

func digestKey(t *testing.T, id, secret string) ledger.DigestKey {
	t.Helper()
	k, err := ledger.NewDigestKey(id, []byte(secret))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestDigest(t *testing.T) {
	t.Parallel()
	key, other := digestKey(t, "k1", "0123456789abcdef"), digestKey(t, "k1", "fedcba9876543210")
	newer := digestKey(t, "k2", "0123456789abcdef")
	spec := ledger.ExecSpec{Kind: ledger.KindExec, Command: "make", Cwd: "/w", Shell: "/bin/bash", Env: map[string]string{"A": "1", "B": "2"}}
	changed := func(f func(*ledger.ExecSpec)) ledger.ExecSpec {
		s := spec
		s.Env = maps.Clone(spec.Env)
		f(&s)
		return s
	}
	value := changed(func(s *ledger.ExecSpec) { s.Env["A"] = "x" })
	for i, c := range []struct {
		recorded string
		spec     ledger.ExecSpec
		keys     []ledger.DigestKey
		want     ledger.Comparison
	}{
		{key.Digest(spec), spec, []ledger.DigestKey{key}, ledger.Equal},
		{key.Digest(spec), spec, []ledger.DigestKey{newer, key}, ledger.Equal},
		{key.Digest(spec), spec, []ledger.DigestKey{newer}, ledger.NotComparable},
		{key.Digest(spec), spec, nil, ledger.NotComparable},
		{key.Digest(spec), spec, []ledger.DigestKey{other}, ledger.Different},
		{key.Digest(spec), value, []ledger.DigestKey{key}, ledger.Different},
		{key.Digest(spec), changed(func(s *ledger.ExecSpec) { s.Kind = ledger.KindSession }), []ledger.DigestKey{key}, ledger.Different},
		{key.Digest(spec), changed(func(s *ledger.ExecSpec) { s.Command = "make x" }), []ledger.DigestKey{key}, ledger.Different},
		{key.Digest(spec), changed(func(s *ledger.ExecSpec) { s.Cwd, s.Shell = s.Shell, s.Cwd }), []ledger.DigestKey{key}, ledger.Different},
		{key.Digest(spec), changed(func(s *ledger.ExecSpec) { delete(s.Env, "B") }), []ledger.DigestKey{key}, ledger.Different},
		{key.Digest(spec), changed(func(s *ledger.ExecSpec) { s.Env = map[string]string{"A": "1B", "": "2"} }), []ledger.DigestKey{key}, ledger.Different},
		// Without a key the values of the environment don't count, and a key that was configured later is no hindrance.
		{ledger.DigestKey{}.Digest(spec), value, nil, ledger.Equal},
		{ledger.DigestKey{}.Digest(spec), spec, []ledger.DigestKey{key}, ledger.Equal},
		{ledger.DigestKey{}.Digest(spec), changed(func(s *ledger.ExecSpec) { s.Env["C"] = "" }), nil, ledger.Different},
		{"", spec, []ledger.DigestKey{key}, ledger.NotComparable},
		{"2:k1:AAAA", spec, []ledger.DigestKey{key}, ledger.NotComparable},
		{"1:k1:!!!!", spec, []ledger.DigestKey{key}, ledger.NotComparable},
		{"1:none:", spec, nil, ledger.NotComparable},
		{"1:none", spec, nil, ledger.NotComparable},
	} {
		if got := ledger.CompareDigest(c.recorded, c.spec, c.keys...); got != c.want {
			t.Errorf("case %d: %s is %s, want %s", i, c.recorded, got, c.want)
		}
	}
	// The form is in ledgers: it must not change.
	if got, want := (ledger.DigestKey{}).Digest(spec), "1:none:UrbaoqC62g4bl-l4Eij4rqtepfcn5D7YMAGBWiLFNo0"; got != want {
		t.Errorf("digest without key is %s, want %s", got, want)
	}
	if got, want := key.Digest(spec), "1:k1:_D0u00urZnHqXoEyqq899IUE0Vtb8F_zrqDQCjA16eY"; got != want {
		t.Errorf("digest with key is %s, want %s", got, want)
	}
}

func TestDigestKeyKeepsItsSecret(t *testing.T) {
	t.Parallel()
	key := digestKey(t, "k1", "0123456789abcdef")
	text, err := json.Marshal(key)
	if err != nil {
		t.Fatal(err)
	}
	all := fmt.Sprintf("%v %+v %#v %s %q %s", key, key, key, key, key, text)
	if strings.Contains(all, "0123456789abcdef") || strings.Contains(all, "48 49 50") || strings.Contains(all, "3031") {
		t.Errorf("the secret shows: %s", all)
	}
	for _, id := range []string{"", "none", "a:b", "a b", strings.Repeat("x", 65)} {
		if _, err := ledger.NewDigestKey(id, []byte("0123456789abcdef")); err == nil {
			t.Errorf("key id %q is accepted", id)
		}
	}
	if _, err := ledger.NewDigestKey("k", []byte("short")); err == nil {
		t.Errorf("a short secret is accepted")
	}
}
