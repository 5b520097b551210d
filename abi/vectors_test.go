package abi_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/abi"
)

var update = flag.Bool("update", false, "write golden files anew")

// The golden vectors, testdata/vectors/README.md says what they are for.
type messageVector struct {
	Name    string         `json:"name"`
	Message string         `json:"message"`
	Value   map[string]any `json:"value"`
	Hex     string         `json:"hex"`
}

type lenientVector struct {
	messageVector

	Canonical string `json:"canonical"`
}

type malformedVector struct {
	Name    string `json:"name"`
	Message string `json:"message"`
	Hex     string `json:"hex"`
}

type tableVector struct {
	Name    string             `json:"name"`
	Columns int                `json:"columns"`
	Rows    [][]map[string]any `json:"rows"`
	Hex     string             `json:"hex"`
}

type frameVector struct {
	Name  string         `json:"name"`
	Hex   string         `json:"hex"`
	Body  *string        `json:"body,omitempty"`  // hex, of a reply
	Error map[string]any `json:"error,omitempty"` // of an error frame
}

func TestVectors(t *testing.T) {
	t.Parallel()
	golden(t, "vectors/messages.json", messageVectors(t))
	golden(t, "vectors/lenient.json", lenientVectors(t))
	golden(t, "vectors/malformed.json", malformedVectors())
	golden(t, "vectors/tables.json", tableVectors(t))
	golden(t, "vectors/frames.json", frameVectors(t))
}

// golden compares v with a file under testdata, or writes it.
func golden(t *testing.T, name string, v any) {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), want) {
		t.Errorf("%s is not what the codec makes (go test -update writes it anew, which changes the ABI)", path)
	}
}

func messageVectors(t *testing.T) []messageVector {
	t.Helper()
	covered := map[string]bool{}
	var all []messageVector
	for _, s := range samples() {
		covered[messageName(s.message)] = true
		all = append(all, messageVector{
			Name: s.name, Message: messageName(s.message), Value: treeOf(t, s.message), Hex: hex.EncodeToString(s.message.AppendTo(nil)),
		})
	}
	for _, m := range allMessages() {
		if !covered[messageName(m)] {
			t.Errorf("there is no sample of %s", messageName(m))
		}
	}
	return all
}

// lenient is input that is not the canonical form and must be read all the same.
func lenient() []struct {
	name    string
	message abi.Message
	wire    []byte
} {
	key := (&abi.SandboxKey{Name: "a", SandboxID: "b"}).AppendTo(nil)
	return []struct {
		name    string
		message abi.Message
		wire    []byte
	}{
		{"unknown fields before", &abi.Request{}, append(unknown(), 0x08, 0x07)},
		{"unknown fields behind", &abi.Request{}, append([]byte{0x08, 0x07}, unknown()...)},
		{"unknown fields in a message without fields", &abi.Empty{}, unknown()},
		{"unknown fields in a nested message", &abi.LedgerOpenRequest{}, append([]byte{0x0a, byte(len(unknown()) + len(key))}, append(unknown(), key...)...)},
		{"fields in another order", &abi.SandboxKey{}, []byte{0x12, 1, 'b', 0x0a, 1, 'a'}},
		{"scalar twice, the last counts", &abi.Request{}, []byte{0x08, 1, 0x08, 2}},
		{"string twice, the last counts", &abi.SandboxKey{}, []byte{0x0a, 1, 'x', 0x0a, 1, 'a'}},
		{"message twice, they merge", &abi.LedgerOpenRequest{}, []byte{0x0a, 3, 0x0a, 1, 'a', 0x0a, 3, 0x12, 1, 'b'}},
		{"empty message", &abi.LedgerOpenRequest{}, []byte{0x0a, 0}},
		{"zeros written out", &abi.Request{}, []byte{0x08, 0, 0x10, 0, 0x1a, 0, 0x22, 0}},
		{"varint longer than needed", &abi.Request{}, []byte{0x08, 0x87, 0x80, 0x80, 0x00}},
		{"tag longer than needed", &abi.Request{}, []byte{0x88, 0x80, 0x00, 0x07}},
		{"bool of two is true", &abi.LedgerAppendReply{}, []byte{0x08, 2}},
		{"number beyond 32 bits keeps its low ones", &abi.SQLParam{}, []byte{0x18, 0x85, 0x80, 0x80, 0x80, 0x10}},
		{"numbers one by one", &abi.BatchRows{}, []byte{0x18, 1, 0x18, 2}},
		{"numbers packed and one by one", &abi.BatchRows{}, []byte{0x1a, 2, 1, 2, 0x18, 3, 0x1a, 1, 4}},
		{"no numbers, packed", &abi.BatchRows{}, []byte{0x1a, 0}},
		{"map key twice, the last counts", &abi.Error{}, []byte{0x22, 6, 0x0a, 1, 'k', 0x12, 1, 'x', 0x22, 6, 0x0a, 1, 'k', 0x12, 1, 'v'}},
		{"map entry without key", &abi.Error{}, []byte{0x22, 3, 0x12, 1, 'v'}},
		{"map entry without value", &abi.Error{}, []byte{0x22, 3, 0x0a, 1, 'k'}},
		{"null written as a value", &abi.SQLParam{}, []byte{0x12, 1, 0}},
		{"null written as no bytes", &abi.SQLParam{}, []byte{0x12, 0}},
		{"error code of the future", &abi.Error{}, []byte{0x08, 99}},
	}
}

func lenientVectors(t *testing.T) []lenientVector {
	t.Helper()
	var all []lenientVector
	for _, s := range lenient() {
		m := newMessage(s.message)
		if err := m.Unmarshal(s.wire); err != nil {
			t.Errorf("%s: %v", s.name, err)
			continue
		}
		agree(t, s.message, s.wire)
		all = append(all, lenientVector{
			messageVector{Name: s.name, Message: messageName(s.message), Value: treeOf(t, m), Hex: hex.EncodeToString(s.wire)},
			hex.EncodeToString(m.AppendTo(nil)),
		})
	}
	return all
}

func malformedVectors() []malformedVector {
	var all []malformedVector
	for _, s := range malformedMessages() {
		all = append(all, malformedVector{s.name, messageName(s.message), hex.EncodeToString(s.wire)})
	}
	for _, s := range malformedTables() {
		all = append(all, malformedVector{s.name, "table", hex.EncodeToString(s.wire)})
	}
	return append(all,
		malformedVector{"empty", "frame", ""},
		malformedVector{"status of two", "frame", "02"},
		malformedVector{"error message cut off", "frame", "0108"},
	)
}

func tableVectors(t *testing.T) []tableVector {
	t.Helper()
	var all []tableVector
	for _, s := range tables() {
		rows := [][]map[string]any{}
		if s.columns > 0 {
			for row := range slices.Chunk(s.values, s.columns) {
				var cells []map[string]any
				for _, v := range row {
					cells = append(cells, valueTree(v))
				}
				for len(cells) < s.columns {
					cells = append(cells, valueTree(abi.Null))
				}
				rows = append(rows, cells)
			}
		}
		all = append(all, tableVector{s.name, s.columns, rows, hex.EncodeToString(s.wire)})
	}
	return all
}

func frameVectors(t *testing.T) []frameVector {
	t.Helper()
	reply := (&abi.DeleteReply{Rows: 300}).AppendTo(nil)
	e := &abi.Error{Code: abi.CodeUnavailable, Message: "database is locked", Retryable: true}
	ok := func(b []byte) *string { s := hex.EncodeToString(b); return &s }
	all := []frameVector{
		{Name: "reply without fields", Hex: hex.EncodeToString(abi.AppendOK(nil, nil)), Body: ok(nil)},
		{Name: "reply", Hex: hex.EncodeToString(abi.AppendOK(nil, &abi.DeleteReply{Rows: 300})), Body: ok(reply)},
		{Name: "error", Hex: hex.EncodeToString(abi.AppendError(nil, e)), Error: treeOf(t, e)},
		{Name: "error without a code is internal", Hex: "01", Error: treeOf(t, &abi.Error{Code: abi.CodeInternal})},
		{Name: "error with a later code is internal", Hex: "010863", Error: treeOf(t, &abi.Error{Code: abi.CodeInternal})},
	}
	for _, v := range all {
		frame, err := hex.DecodeString(v.Hex)
		if err != nil {
			t.Fatal(err)
		}
		body, err := abi.ParseFrame(frame)
		var got *abi.Error
		switch {
		case v.Body != nil:
			if err != nil || hex.EncodeToString(body) != *v.Body {
				t.Errorf("frame %q: %x, %v", v.Name, body, err)
			}
		case !errors.As(err, &got) || !reflect.DeepEqual(treeOf(t, got), v.Error):
			t.Errorf("frame %q: %v", v.Name, err)
		}
	}
	return all
}

// TestManual checks the parts of ABI.md that are numbers, names or bytes against this package.
func TestManual(t *testing.T) {
	t.Parallel()
	manual, err := os.ReadFile("ABI.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(manual)
	for _, block := range manualBlocks(t) {
		begin, end := "<!-- generated: "+block.name+" -->\n", "<!-- end of "+block.name+" -->"
		i := strings.Index(text, begin)
		j := strings.Index(text, end)
		if i < 0 || j < i {
			t.Errorf("ABI.md has no part %q", block.name)
			continue
		}
		i += len(begin)
		if got := text[i:j]; got != block.text {
			if !*update {
				t.Errorf("ABI.md, %s (go test -update writes it anew):\ngot\n%s\nwant\n%s", block.name, got, block.text)
			}
			text = text[:i] + block.text + text[j:]
		}
	}
	if *update && text != string(manual) {
		if err := os.WriteFile("ABI.md", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
