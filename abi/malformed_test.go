package abi_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/abi"
)

// malformed is input that every receiver must refuse.
type malformed struct {
	name    string
	message abi.Message // nil for a table
	wire    []byte
	reason  string // part of our error
}

func malformedMessages() []malformed {
	overlong := append(bytes.Repeat([]byte{0xff}, 9), 0x02)
	return []malformed{
		{"tag cut off", &abi.Request{}, []byte{0x88}, "ends inside"},
		{"varint cut off", &abi.Request{}, []byte{0x08, 0x80}, "ends inside"},
		{"varint of 65 bits", &abi.Request{}, append([]byte{0x08}, overlong...), "64 bits"},
		{"varint of eleven bytes", &abi.Request{}, append([]byte{0x08}, bytes.Repeat([]byte{0x80}, 11)...), "64 bits"},
		{"field number zero", &abi.Request{}, []byte{0x00, 0x01}, "field number"},
		{"field number too large", &abi.Request{}, []byte{0x80, 0x80, 0x80, 0x80, 0x10, 0x00}, "field number"},
		{"length past the end", &abi.Request{}, []byte{0x22, 0x05, 'a', 'b'}, "ends inside"},
		{"length of 2^64-1", &abi.Request{}, append([]byte{0x22}, append(bytes.Repeat([]byte{0xff}, 9), 0x01)...), "ends inside"},
		{"unknown fixed32 cut off", &abi.Request{}, []byte{0x7d, 1, 2, 3}, "ends inside"},
		{"unknown fixed64 cut off", &abi.Request{}, []byte{0x79, 1, 2, 3}, "ends inside"},
		{"group", &abi.Request{}, []byte{0x7b, 0x7c}, "groups"},
		{"end of a group", &abi.Request{}, []byte{0x7c}, "groups"},
		{"wire type six", &abi.Request{}, []byte{0x7e}, "wire type"},
		{"wire type seven", &abi.Empty{}, []byte{0x0f}, "wire type"},
		{"string not UTF-8", &abi.Request{}, []byte{0x1a, 0x01, 0xff}, "UTF-8"},
		{"surrogate in a string", &abi.SandboxKey{}, []byte{0x0a, 0x03, 0xed, 0xa0, 0x80}, "UTF-8"},
		{"nested message cut off", &abi.LedgerOpenRequest{}, []byte{0x0a, 0x02, 0x0a, 0x05}, "ends inside"},
		{"map entry cut off", &abi.Error{}, []byte{0x22, 0x02, 0x0a, 0x05}, "ends inside"},
		{"map value not UTF-8", &abi.Error{}, []byte{0x22, 0x03, 0x12, 0x01, 0xc0}, "UTF-8"},
		{"packed varint cut off", &abi.BatchRows{}, []byte{0x1a, 0x01, 0x80}, "ends inside"},
		{"value without its payload", &abi.SQLParam{}, []byte{0x12, 0x01, 0x01}, "ends inside"},
		{"value longer than its field", &abi.SQLParam{}, []byte{0x12, 0x05, 0x04, 9, 0, 0, 0}, "ends inside"},
		{"value and more", &abi.SQLParam{}, []byte{0x12, 0x02, 0x00, 0x00}, "after the value"},
		{"bool of two", &abi.SQLParam{}, []byte{0x12, 0x02, 0x03, 0x02}, "neither 0 nor 1"},
		{"bad value deep inside", &abi.SQLExec{}, []byte{0x1a, 0x05, 0x12, 0x03, 0x12, 0x01, 0x02}, "ends inside"},
	}
}

func malformedTables() []malformed {
	return []malformed{
		{name: "empty", wire: nil, reason: "header"},
		{name: "header cut off", wire: []byte{1, 0, 0, 0, 1, 0, 0}, reason: "header"},
		{name: "rows without columns", wire: abi.AppendTableHeader(nil, 1, 0), reason: "without columns"},
		{name: "all rows of no columns", wire: abi.AppendTableHeader(nil, 1<<32-1, 0), reason: "without columns"},
		{name: "more values than bytes", wire: append(abi.AppendTableHeader(nil, 1<<32-1, abi.MaxColumns), 0), reason: "more values"},
		{name: "too many columns", wire: abi.AppendTableHeader(nil, 0, abi.MaxColumns+1), reason: "too many columns"},
		{name: "value missing", wire: abi.AppendTableHeader(nil, 1, 1), reason: "more values"},
		{name: "i64 cut off", wire: append(abi.AppendTableHeader(nil, 1, 1), 1, 0, 0), reason: "ends inside"},
		{name: "second row missing", wire: append(abi.AppendTableHeader(nil, 2, 1), 3, 1), reason: "ends inside"},
		{name: "bool of two", wire: append(abi.AppendTableHeader(nil, 1, 1), 3, 2), reason: "neither 0 nor 1"},
		{name: "length cut off", wire: append(abi.AppendTableHeader(nil, 1, 1), 4, 1, 0), reason: "ends inside"},
		{name: "length past the end", wire: append(abi.AppendTableHeader(nil, 1, 1), 4, 0xff, 0xff, 0xff, 0xff, 'a'), reason: "ends inside"},
		{name: "unknown tag past the end", wire: append(abi.AppendTableHeader(nil, 1, 1), 200, 2, 0, 0, 0, 'a'), reason: "ends inside"},
		{name: "bytes after the last value", wire: append(abi.AppendTableHeader(nil, 1, 1), 0, 0), reason: "after the last"},
		{name: "bytes after no rows", wire: append(abi.AppendTableHeader(nil, 0, 1), 0), reason: "after the last"},
	}
}

func TestMalformedInputIsRefused(t *testing.T) {
	t.Parallel()
	for _, s := range malformedMessages() {
		err := newMessage(s.message).Unmarshal(s.wire)
		checkMalformed(t, s, err)
		var m *abi.MalformedError
		if errors.As(err, &m) && (m.Subject == "" || m.Offset > len(s.wire)) {
			t.Errorf("%s: the error is about %q at %d", s.name, m.Subject, m.Offset)
		}
		agree(t, s.message, s.wire)
	}
	for _, s := range malformedTables() {
		table := new(abi.Table)
		if err := table.Parse(tables()[2].wire); err != nil {
			t.Fatal(err)
		}
		checkMalformed(t, s, table.Parse(s.wire))
		if table.Len() != 0 || table.Columns() != 0 {
			t.Errorf("table %s: after the error it has %d rows", s.name, table.Len())
		}
		_, err := readTable(s.wire)
		checkMalformed(t, s, err)
	}
}

func checkMalformed(t *testing.T, s malformed, err error) {
	t.Helper()
	if !errors.Is(err, abi.ErrMalformed) || !strings.Contains(err.Error(), s.reason) {
		t.Errorf("%s (%x): error %v, want %q", s.name, s.wire, err, s.reason)
	}
}
