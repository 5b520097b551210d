package ledger_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/store"
)

func TestCanonicalJSON(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"seq":1,"type":"stdout","text":"a","timestamp":5}`: `{"seq":1,"text":"a","timestamp":5,"type":"stdout"}`,
		" { \"b\" : [ 1 , 2 ] ,\n\t\"a\" : { } } \r\n":       `{"a":{},"b":[1,2]}`,
		`[]`: `[]`, ` null`: `null`, `true `: `true`, `"\u0041\/\u00e9"`: `"A/é"`,
		`{"z":{"y":1,"x":[{"b":0,"a":0}]},"a":2}`: `{"a":2,"z":{"x":[{"a":0,"b":0}],"y":1}}`,
		`"\u0000\u001F\u007f\b\f\n\r\t\"\\"`:      `"\u0000\u001f` + "\x7f" + `\b\f\n\r\t\"\\"`,
		`"<>&` + "\u2028" + `"`:                   `"<>&` + "\u2028" + `"`,
		`"\ud83d\ude00"`:                          `"😀"`,
		// RFC 8785, section 3.2.3: names order by UTF-16 units.
		`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`: `{"\r":"Carriage Return","1":"One","` + "\u0080" + `":"Control","ö":"Latin Small Letter O With Diaeresis","€":"Euro Sign","😀":"Emoji: Grinning Face","` + "\ufb33" + `":"Hebrew Letter Dalet With Dagesh"}`,
		`{"a":1,"":0,"aa":2}`: `{"":0,"a":1,"aa":2}`,
	} {
		got := canonical(t, in)
		if got != want {
			t.Errorf("canonical form of %s:\n got %s\nwant %s", in, got, want)
		}
	}
}

func TestCanonicalNumbers(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"0": "0", "-0": "0", "0.0": "0", "-0.0e5": "0", "1": "1", "-1": "-1", "10": "10", "1.0": "1", "1.50": "1.5", "100e-2": "1",
		"1E30": "1e+30", "4.50": "4.5", "2e-3": "0.002", "0.000000000000000000000000001": "1e-27", "1e21": "1e+21", "1e20": "100000000000000000000",
		"123456789012345678901": "123456789012345678901", "1234567890123456789012": "1.234567890123456789012e+21", "0.000001": "0.000001", "0.0000001": "1e-7",
		"1795964634657123457": "1795964634657123457", "9007199254740993": "9007199254740993", // RFC 8785 would round it
		"333333333.33333329": "333333333.33333329", "-12.5e+1": "-125", "1.7976931348623157e308": "1.7976931348623157e+308", "5e-324": "5e-324",
		"123.456e5": "12345600", "1000000000000000000000000": "1e+24", "0e999999999999": "0", "0.1e1": "1", "00.5": "", "1.": "", ".5": "", "1e": "", "1e+": "", "-": "",
		"+1": "", "01": "", "-01": "", "1e309": "", "1.8e308": "", "1e-400": "", "1e99999999999999999999": "", "NaN": "", "Infinity": "", "0x10": "",
	} {
		var c ledger.Canonicalizer
		got, err := c.AppendJSON(nil, []byte(in))
		if want == "" {
			if !errors.Is(err, ledger.ErrPayload) || !errors.Is(err, store.ErrInvalid) {
				t.Errorf("canonical form of %s is %s, error %v; want an error", in, got, err)
			}
			continue
		}
		if string(got) != want || err != nil {
			t.Errorf("canonical form of %s is %s, error %v; want %s", in, got, err, want)
		}
	}
}

func TestCanonicalRefuses(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"", " ", "{", "}", "[1,]", "[1 2]", `{"a"}`, `{"a":}`, `{"a":1,}`, `{a:1}`, `{"a":1}x`, "tru", "nul", "truex", `"`, `"\x"`, `"\u12"`, `"\u12g4"`,
		"\"a\nb\"", "\"\x00\"", "\"\xff\"", `"\ud800"`, `"\udc00"`, `"\ud800\u0041"`, `"\ud800x"`, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`,
		`{"b":0,"a":1,"b":2}`, strings.Repeat("[", 257) + strings.Repeat("]", 257), strings.Repeat(`{"a":`, 300), "\ufeff{}", "{\"a\":1}\x00",
	} {
		var c ledger.Canonicalizer
		got, err := c.AppendJSON([]byte("before"), []byte(in))
		if !errors.Is(err, ledger.ErrPayload) || string(got) != "before" {
			t.Errorf("canonical form of %.40q is %q, error %v; want ErrPayload and nothing appended", in, got, err)
		}
	}
	deep := strings.Repeat("[", ledger.MaxDepth) + strings.Repeat("]", ledger.MaxDepth)
	if canonical(t, deep) != deep {
		t.Errorf("the deepest value changed")
	}
}

func canonical(t testing.TB, in string) string {
	t.Helper()
	var c ledger.Canonicalizer
	out, err := c.AppendJSON(nil, []byte(in))
	if err != nil {
		t.Fatalf("canonical form of %q: %v", in, err)
	}
	return string(out)
}

// vector is one golden vector: anyone who writes another implementation can check it with these.
type vector struct {
	Entry     vectorEntry `json:"entry"`
	Canonical string      `json:"canonical"`
	Leaf      string      `json:"leaf"`
}

type vectorEntry struct {
	TS        int64           `json:"ts"`
	Name      string          `json:"name"`
	SandboxID string          `json:"sandboxId"`
	StepIndex int64           `json:"stepIndex"`
	Branch    *int64          `json:"branch,omitempty"`
	Event     string          `json:"event"`
	Payload   json.RawMessage `json:"payload,omitempty"` // absent is SQL NULL; null is JSON null
	Error     *string         `json:"error,omitempty"`
}

type vectorSegment struct {
	Previous string   `json:"previous"`
	ID       string   `json:"id"`
	Leaves   []string `json:"leaves"`
	Hash     string   `json:"hash"`
}

type vectors struct {
	Entries  []vector        `json:"entries"`
	Segments []vectorSegment `json:"segments"`
}

func TestGoldenVectors(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/canonical-v1.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden vectors
	if err = json.Unmarshal(text, &golden); err != nil {
		t.Fatal(err)
	}
	if len(golden.Entries) < 6 || len(golden.Segments) < 2 {
		t.Fatalf("only %d entries and %d segments", len(golden.Entries), len(golden.Segments))
	}
	var c ledger.Canonicalizer
	for _, v := range golden.Entries {
		e := store.Entry{
			ID: 7, TS: v.Entry.TS, Name: v.Entry.Name, SandboxID: v.Entry.SandboxID, StepIndex: v.Entry.StepIndex,
			Branch: v.Entry.Branch, Event: v.Entry.Event, Payload: v.Entry.Payload, Error: v.Entry.Error,
		}
		form, err := c.AppendEntry(nil, &e)
		if err != nil || string(form) != v.Canonical {
			t.Errorf("canonical form, error %v:\n got %s\nwant %s", err, form, v.Canonical)
		}
		leaf, _, err := c.Leaf(&e, nil)
		if got := hex.EncodeToString(leaf[:]); err != nil || got != v.Leaf {
			t.Errorf("leaf of %s is %s, error %v; want %s", form, got, err, v.Leaf)
		}
	}
	for _, s := range golden.Segments {
		var id [16]byte
		copy(id[:], unhex(t, s.ID))
		sum := ledger.SegmentHash(unhex(t, s.Previous), id, unhex(t, strings.Join(s.Leaves, "")))
		if got := hex.EncodeToString(sum[:]); got != s.Hash {
			t.Errorf("segment %s has hash %s, want %s", s.ID, got, s.Hash)
		}
	}
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestEntryTextsAreChecked(t *testing.T) {
	t.Parallel()
	nul, bad := "a\x00", "\xff"
	for name, e := range map[string]store.Entry{
		"no event":        {Name: "n", SandboxID: "s"},
		"no name":         {Event: "e", SandboxID: "s"},
		"no sandbox id":   {Event: "e", Name: "n"},
		"NUL in name":     {Event: "e", Name: nul, SandboxID: "s"},
		"bad event":       {Event: bad, Name: "n", SandboxID: "s"},
		"bad error":       {Event: "e", Name: "n", SandboxID: "s", Error: &bad},
		"empty payload":   {Event: "e", Name: "n", SandboxID: "s", Payload: json.RawMessage{}},
		"payload no JSON": {Event: "e", Name: "n", SandboxID: "s", Payload: json.RawMessage("x")},
	} {
		var c ledger.Canonicalizer
		if out, err := c.AppendEntry([]byte("x"), &e); !errors.Is(err, store.ErrInvalid) || string(out) != "x" {
			t.Errorf("%s: %q, error %v; want ErrInvalid", name, out, err)
		}
	}
}

func TestCanonicalizerDoesNotAllocate(t *testing.T) {
	var c ledger.Canonicalizer
	var dst []byte
	payloads := [][]byte{
		[]byte(`{"seq":1,"type":"stdout","text":"0123456789 \u00e9\n","timestamp":1795964634665}`),
		[]byte(`{"seq":1,"text":"0123456789","timestamp":1795964634665,"type":"stdout"}`),
		[]byte(`{"n":1.50,"list":[1,2,{"b":1,"a":2}]}`),
	}
	allocs := testing.AllocsPerRun(100, func() {
		for _, p := range payloads {
			out, err := c.AppendJSON(dst[:0], p)
			if err != nil {
				t.Error(err)
			}
			dst = out
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations a round, want none", allocs)
	}
}
