package ledger_test

import (
	"bytes"
	"encoding/json"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/alineo-labs/alineo-host/host/ledger"
)

// FuzzCanonicalJSON checks against encoding/json: what is accepted is JSON with the same value, the
// form is canonical itself, and blanks and the order of members make no difference.
func FuzzCanonicalJSON(f *testing.F) {
	for _, seed := range []string{
		`{"seq":1,"type":"stdout","text":"a\nb","timestamp":1795964634665}`, `[1.50,-0,1e400,12e-3]`, `{"b":{"d":1,"c":2},"a":["\u00e9\ud83d\ude00"]}`,
		`"\ud800"`, `{"a":1,"a":2}`, " null ", `{"😀":1,"ﬁ":2}`, "", `{"":{"":{}}}`, `123456789012345678901234567890`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		var c ledger.Canonicalizer
		form, err := c.AppendJSON(nil, src)
		if err != nil {
			return
		}
		if !json.Valid(src) || !utf8.Valid(src) {
			t.Fatalf("%q is not JSON but has the form %q", src, form)
		}
		again, err := c.AppendJSON(nil, form)
		if err != nil || !bytes.Equal(again, form) {
			t.Fatalf("form of the form %q is %q, error %v", form, again, err)
		}
		if want, got := decode(t, src), decode(t, form); !reflect.DeepEqual(want, got) {
			t.Fatalf("the form %q of %q is another value", form, src)
		}
		var indented bytes.Buffer
		if err = json.Indent(&indented, src, " ", "\t"); err != nil {
			t.Fatal(err)
		}
		for _, other := range [][]byte{indented.Bytes(), reversed(t, src)} {
			if got, err := c.AppendJSON(nil, other); err != nil || !bytes.Equal(got, form) {
				t.Fatalf("form of %q is %q, error %v; of %q it is %q", other, got, err, src, form)
			}
		}
	})
}

// decode decodes a value with exact numbers.
func decode(t *testing.T, src []byte) any {
	d := json.NewDecoder(bytes.NewReader(src))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("decoding %q: %v", src, err)
	}
	return exact(t, v)
}

func exact(t *testing.T, v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			v[name] = exact(t, member)
		}
	case []any:
		for i, element := range v {
			v[i] = exact(t, element)
		}
	case json.Number:
		mantissa, exponent, _ := strings.Cut(strings.ToLower(v.String()), "e")
		if r, ok := new(big.Rat).SetString(mantissa); ok && r.Sign() == 0 {
			return "0"
		}
		if len(strings.TrimLeft(exponent, "+-0")) > 5 {
			t.Fatalf("accepted the number %s", v)
		}
		r, ok := new(big.Rat).SetString(v.String())
		if !ok {
			t.Fatalf("%s is not a number", v)
		}
		return r.String()
	}
	return v
}

// reversed writes src with the members of every object in the other order.
func reversed(t *testing.T, src []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(src))
	d.UseNumber()
	out, err := reverse(d)
	if err != nil {
		t.Fatalf("reversing %q: %v", src, err)
	}
	return out
}

func reverse(d *json.Decoder) ([]byte, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	delim, ok := token.(json.Delim)
	if !ok {
		return json.Marshal(token)
	}
	var parts [][]byte
	for d.More() {
		var part []byte
		if delim == '{' {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			if part, err = json.Marshal(name); err != nil {
				return nil, err
			}
			part = append(part, ':')
		}
		value, err := reverse(d)
		if err != nil {
			return nil, err
		}
		part = append(part, value...)
		if delim == '{' {
			parts = append([][]byte{part}, parts...)
		} else {
			parts = append(parts, part)
		}
	}
	if _, err = d.Token(); err != nil {
		return nil, err
	}
	open, closing := "{", "}"
	if delim == '[' {
		open, closing = "[", "]"
	}
	return []byte(open + string(bytes.Join(parts, []byte(","))) + closing), nil
}
