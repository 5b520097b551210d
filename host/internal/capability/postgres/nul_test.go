package postgres

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestNUL(t *testing.T) {
	t.Parallel()
	for value, stored := range map[string]string{
		`{"text":"a"}`:                     `{"text":"a"}`,
		`{"text":"a\\u0000"}`:              `{"text":"a\\u0000"}`,
		`{"text":"a␀"}`:                    `{"text":"a␀"}`,
		`{"text":"a\u0000b␀␛"}`:            `{"$nul":1,"text":"a␀b␛␀␛␛"}`,
		`{ "text" : "\u0000\u2400\u241B"}`: `{"$nul":1, "text" : "␀␛␀␛␛"}`,
		`{"\u0000":1,"␀":2}`:               `{"$nul":1,"␀":1,"␛␀":2}`,
		`["\u0000"]`:                       `{"$nul":2,"value":["␀"]}`,
		`{"$nul":1}`:                       `{"$nul":2,"value":{"$nul":1}}`,
		`{"\u0024n\u0075l":"\u0000"}`:      `{"$nul":2,"value":{"\u0024n\u0075l":"␀"}}`,
		`{"a":{"$nul":1}}`:                 `{"a":{"$nul":1}}`,
	} {
		got := escapeNUL([]byte(value))
		if string(got) != stored {
			t.Errorf("%s is stored as %s, want %s", value, got, stored)
		}
		checkNUL(t, []byte(value))
	}
}

// checkNUL wants a value back from its stored form, also when the keys' order changed there.
func checkNUL(t *testing.T, value []byte) {
	t.Helper()
	var want any
	if err := json.Unmarshal(value, &want); err != nil {
		return
	}
	stored := escapeNUL(bytes.Clone(value))
	var held any
	if err := json.Unmarshal(stored, &held); err != nil {
		t.Fatalf("%s is stored as %s: %v", value, stored, err)
	}
	var sorted bytes.Buffer
	enc := json.NewEncoder(&sorted)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(held); err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(bytes.ReplaceAll(sorted.Bytes(), []byte(`\\`), nil), []byte(`\u0000`)) {
		t.Errorf("%s is stored with a NUL: %s", value, stored)
	}
	for _, form := range [][]byte{stored, sorted.Bytes()} {
		var got any
		back := unescapeNUL(form)
		if err := json.Unmarshal(back, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s came back as %s (%v), from %s", value, back, err, form)
		}
	}
}

// FuzzNUL wants every JSON value back.
func FuzzNUL(f *testing.F) {
	for _, seed := range []string{`{"a":"\u0000"}`, `"\u0000␀␛"`, `{"$nul":2,"value":1}`, `{"\u0000":"$nul"}`, `{"$nul":1,"b":"\\u0000\u0000"}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		unescapeNUL([]byte(text))
		if !strings.Contains(text, `\ud`) && !strings.Contains(text, `\uD`) { // half pairs come back as one rune, and are refused before
			checkNUL(t, []byte(text))
		}
	})
}
