package abi_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/abi"
)

// manualBlock is a part of ABI.md that is generated from this package.
type manualBlock struct {
	name, text string
}

func manualBlocks(t *testing.T) []manualBlock {
	t.Helper()
	return []manualBlock{
		{"error codes", codeTable()},
		{"describe", describeExample()},
		{"echo", echoExample()},
		{"error", errorExample()},
		{"program", programExample()},
		{"table", tableExample()},
	}
}

func codeTable() string {
	meaning := map[abi.Code]string{
		abi.CodeInvalid:           "The request is wrong; the same request fails again.",
		abi.CodeNotFound:          "What the request names does not exist.",
		abi.CodeConflict:          "What is there is not what the request expected.",
		abi.CodeDenied:            "Not granted, or refused by the other side.",
		abi.CodeUnsupported:       "The operation is unknown to the receiver.",
		abi.CodeUnavailable:       "Nothing was done; the same request may succeed later.",
		abi.CodeUnknownOutcome:    "It may or may not have been done.",
		abi.CodeResourceExhausted: "A limit was reached.",
		abi.CodeDeadline:          "Time ran out and nothing was done.",
		abi.CodeInternal:          "A fault of the receiver.",
	}
	var b strings.Builder
	b.WriteString("| number | name | meaning |\n| --- | --- | --- |\n")
	for c := abi.CodeInvalid; c <= abi.CodeInternal; c++ {
		fmt.Fprintf(&b, "| %d | `%s` | %s |\n", c, c, meaning[c])
	}
	return b.String()
}

// part is a piece of an example and what it is.
type part struct {
	wire []byte
	what string
}

// listing writes parts as hex, 8 bytes a line, each with its comment.
func listing(parts ...part) string {
	var b strings.Builder
	b.WriteString("```text\n")
	for _, p := range parts {
		for i := 0; i < len(p.wire); i += 8 {
			line := spaced(p.wire[i:min(i+8, len(p.wire))])
			if i == 0 {
				line = fmt.Sprintf("%-24s%s", line, p.what)
			}
			b.WriteString(strings.TrimRight(line, " ") + "\n")
		}
	}
	b.WriteString("```\n")
	return b.String()
}

func spaced(b []byte) string {
	var words []string
	for _, c := range b {
		words = append(words, hex.EncodeToString([]byte{c}))
	}
	return strings.Join(words, " ")
}

// must panics when the pieces of an example are not what the codec makes of the whole.
func must(parts []part, whole []byte) []part {
	var b []byte
	for _, p := range parts {
		b = append(b, p.wire...)
	}
	if !bytes.Equal(b, whole) {
		panic(fmt.Sprintf("an example is %x, the codec makes %x", b, whole))
	}
	return parts
}

func text(s string) []byte { return []byte(s) }

func bytesOf(b ...byte) []byte { return b }

func describeExample() string {
	request := (&abi.Request{CallID: 1, DeadlineMS: 5000}).AppendTo(nil)
	manifest := &abi.Manifest{
		Name: "tiny", Version: "1.0.0", Kinds: []string{"ledger"},
		Capabilities: []abi.Want{{Name: "sql", Resource: "ledger", Reason: "keeps it"}},
	}
	frame := abi.AppendOK(nil, manifest)
	return fmt.Sprintf("The request, %d bytes (a `Request` whose body is empty):\n\n", len(request)) +
		listing(must([]part{
			{bytesOf(0x08, 0x01), "field 1 (call_id), varint: 1"},
			{bytesOf(0x10, 0x88, 0x27), "field 2 (deadline_ms), varint: 5000 = 0x08 + (0x27 << 7)"},
		}, request)...) +
		fmt.Sprintf("\nThe response frame, %d bytes (a `Manifest`):\n\n", len(frame)) +
		listing(must([]part{
			{bytesOf(0x00), "status: a reply"},
			{append(bytesOf(0x0a, 0x04), "tiny"...), "field 1 (name), 4 bytes"},
			{append(bytesOf(0x12, 0x05), "1.0.0"...), "field 2 (version), 5 bytes"},
			{append(bytesOf(0x1a, 0x06), "ledger"...), "field 3 (kinds), first element"},
			{bytesOf(0x2a, 0x17), "field 5 (capabilities), a Want of 23 bytes:"},
			{append(bytesOf(0x0a, 0x03), "sql"...), "  field 1 (name)"},
			{append(bytesOf(0x12, 0x06), "ledger"...), "  field 2 (resource)"},
			{append(bytesOf(0x1a, 0x08), "keeps it"...), "  field 3 (reason)"},
		}, frame)...) +
		"\n`alineo_call(0x01, " + fmt.Sprint(len(request)) + ")` returns `(address of the frame) << 32 | " + fmt.Sprint(len(frame)) + "`.\n"
}

func echoExample() string {
	body := abi.Raw("ping")
	request := (&abi.Request{CallID: 2, Body: body}).AppendTo(nil)
	frame := abi.AppendOK(nil, &body)
	return fmt.Sprintf("The request of `echo` with the body `ping`, %d bytes:\n\n", len(request)) +
		listing(must([]part{
			{bytesOf(0x08, 0x02), "field 1 (call_id), varint: 2"},
			{append(bytesOf(0x22, 0x04), "ping"...), "field 4 (body), 4 bytes"},
		}, request)...) +
		fmt.Sprintf("\nThe response frame, %d bytes:\n\n", len(frame)) +
		listing(must([]part{
			{bytesOf(0x00), "status: a reply"},
			{text("ping"), "the body, as it came"},
		}, frame)...)
}

func errorExample() string {
	frame := abi.AppendError(nil, &abi.Error{
		Code: abi.CodeConflict, Message: "head has moved", Details: map[string]string{abi.DetailSegment: "0"},
	})
	return fmt.Sprintf("An error frame, %d bytes:\n\n", len(frame)) + listing(must([]part{
		{bytesOf(0x01), "status: an error"},
		{bytesOf(0x08, 0x03), "field 1 (code), varint: 3, conflict"},
		{append(bytesOf(0x12, 0x0e), "head has moved"...), "field 2 (message), 14 bytes"},
		{bytesOf(0x22, 0x0c), "field 4 (details), one entry of 12 bytes:"},
		{append(bytesOf(0x0a, 0x07), "segment"...), "  field 1 (key)"},
		{append(bytesOf(0x12, 0x01), "0"...), "  field 2 (value)"},
	}, frame)...)
}

func programExample() string {
	expect := uint64(1)
	program := &abi.SQLExec{Database: "ledger", Steps: []abi.SQLStep{
		{
			SQL:    "UPDATE h SET n = ? WHERE id = ?",
			Params: []abi.SQLParam{{Value: abi.Int(7)}, {Kind: abi.ParamColumn, Column: 4}},
			Batch:  2, Expect: &expect, MismatchCode: abi.CodeConflict,
		},
	}}
	wire := program.AppendTo(nil)
	return fmt.Sprintf("A request of `sql.exec`, %d bytes: for each row of batch 2, set `n` to 7 where `id` is the row's column 4, and "+
		"fail with `conflict` unless that changes one row.\n\n", len(wire)) + listing(must([]part{
		{append(bytesOf(0x0a, 0x06), "ledger"...), "field 1 (database)"},
		{bytesOf(0x1a, 0x3a), "field 3 (steps), a SQLStep of 58 bytes:"},
		{append(bytesOf(0x0a, 0x1f), program.Steps[0].SQL...), "  field 1 (sql), 31 bytes"},
		{bytesOf(0x12, 0x0b), "  field 2 (params), a SQLParam of 11 bytes:"},
		{bytesOf(0x12, 0x09, 0x01), "    field 2 (value), 9 bytes: tag 1, i64"},
		{bytesOf(7, 0, 0, 0, 0, 0, 0, 0), "      7, little-endian"},
		{bytesOf(0x12, 0x04), "  field 2 (params), a SQLParam of 4 bytes:"},
		{bytesOf(0x08, 0x01), "    field 1 (kind), varint: 1, column"},
		{bytesOf(0x18, 0x04), "    field 3 (column), varint: 4"},
		{bytesOf(0x18, 0x02), "  field 3 (batch), varint: 2"},
		{bytesOf(0x30, 0x01), "  field 6 (expect), varint: 1"},
		{bytesOf(0x38, 0x03), "  field 7 (mismatch_code), varint: 3"},
	}, wire)...)
}

func tableExample() string {
	w := abi.NewTableWriter(nil, 3)
	w.Row(abi.Int(-1), abi.Text("hé"), abi.Null)
	w.Row(abi.Real(0.5), abi.JSON(text("{}")), abi.Bool(true))
	wire := w.Bytes()
	return fmt.Sprintf("A table of two rows and three columns, %d bytes:\n\n", len(wire)) + listing(must([]part{
		{bytesOf(2, 0, 0, 0), "rows"},
		{bytesOf(3, 0, 0, 0), "columns"},
		{bytesOf(1), "i64"},
		{bytesOf(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff), "  -1"},
		{bytesOf(4), "text"},
		{bytesOf(3, 0, 0, 0), "  3 bytes"},
		{text("hé"), "  \"hé\""},
		{bytesOf(0), "null"},
		{bytesOf(2), "f64"},
		{bytesOf(0, 0, 0, 0, 0, 0, 0xe0, 0x3f), "  0.5"},
		{bytesOf(5), "json"},
		{bytesOf(2, 0, 0, 0), "  2 bytes"},
		{text("{}"), "  {}"},
		{bytesOf(3), "bool"},
		{bytesOf(1), "  true"},
	}, wire)...)
}

// TestManualNamesEverything looks for every operation, message and bound in ABI.md.
func TestManualNamesEverything(t *testing.T) {
	t.Parallel()
	manual, err := os.ReadFile("ABI.md")
	if err != nil {
		t.Fatal(err)
	}
	var wanted []string
	for op := range abi.Op(0x2000) {
		if name := op.String(); !strings.HasPrefix(name, "0x") {
			wanted = append(wanted, fmt.Sprintf("| `0x%02x` | %#q |", uint32(op), name), "**"+name+"**")
		}
	}
	for _, key := range []string{abi.DetailEntry, abi.DetailSegment, abi.DetailStep, abi.DetailRow, abi.DetailKey, abi.DetailNoProxy} {
		wanted = append(wanted, "| `"+key+"` |")
	}
	for k := abi.KindNull; k <= abi.KindBlob; k++ {
		wanted = append(wanted, fmt.Sprintf("| %d | %s |", k, k))
	}
	for _, symbol := range []string{
		abi.ExportMemory, abi.ExportMarker, abi.ExportBuffer, abi.ExportCall, abi.ExportInitialize, abi.ImportCall, abi.ImportTake, abi.ImportLog,
	} {
		wanted = append(wanted, "| `"+symbol+"` |")
	}
	for _, n := range []int{abi.MaxElements, abi.MaxSteps, abi.MaxColumns} {
		wanted = append(wanted, fmt.Sprintf("%d,%03d", n/1000, n%1000))
	}
	for _, want := range wanted {
		heading := "### " + strings.Trim(want, "*")
		if !strings.Contains(string(manual), want) && !strings.Contains(string(manual), heading) {
			t.Errorf("ABI.md does not have %s", want)
		}
	}
}
