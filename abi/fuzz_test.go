package abi_test

import (
	"bytes"
	"errors"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/abi"
)

// FuzzMessages decodes any bytes as any message, beside the official runtime, and bounds what the
// decoder keeps.
func FuzzMessages(f *testing.F) {
	types := allMessages()
	index := map[string]int{}
	for i, m := range types {
		index[messageName(m)] = i
	}
	for _, s := range samples() {
		wire := s.message.AppendTo(nil)
		f.Add(byte(index[messageName(s.message)]), wire)
		f.Add(byte(index[messageName(s.message)]), append(unknown(), wire...))
	}
	for _, s := range malformedMessages() {
		f.Add(byte(index[messageName(s.message)]), s.wire)
	}
	f.Fuzz(func(t *testing.T, kind byte, wire []byte) {
		if len(wire) > 2*abi.MaxSteps {
			return // the official runtime knows no bounds of elements
		}
		empty := types[int(kind)%len(types)]
		agree(t, empty, wire)
		m := newMessage(empty)
		if err := m.Unmarshal(wire); err != nil {
			m = newMessage(empty)
			_ = m.Unmarshal(wire[:len(wire)/2]) // only its memory is of interest
		}
		if kept := footprint(reflect.ValueOf(m).Elem()); kept > 512*len(wire)+4096 {
			t.Errorf("%s keeps %d bytes for %d of input", messageName(empty), kept, len(wire))
		}
		// Decoding into a used variable leaves nothing of what was there.
		reused := newMessage(empty)
		_ = reused.Unmarshal(wire)
		if err := reused.Unmarshal(nil); err != nil || len(reused.AppendTo(nil)) != 0 {
			t.Errorf("%s keeps something over Unmarshal: %v", messageName(empty), err)
		}
	})
}

// footprint sums the slices that hang below a value, bytes aside, which are views.
func footprint(v reflect.Value) int {
	total := 0
	switch v.Kind() {
	case reflect.Struct:
		for _, field := range v.Fields() {
			total += footprint(field)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return 0
		}
		total = v.Cap() * int(v.Type().Elem().Size())
		for i := range v.Len() {
			total += footprint(v.Index(i))
		}
	case reflect.Map:
		total = v.Len() * 64
	default:
	}
	return total
}

// FuzzTable reads any bytes as a table, with and without an index.
func FuzzTable(f *testing.F) {
	for _, s := range tables() {
		f.Add(s.wire)
	}
	for _, s := range malformedTables() {
		f.Add(s.wire)
	}
	f.Fuzz(func(t *testing.T, wire []byte) {
		table, err := abi.ParseTable(wire)
		rows, streamErr := readTable(wire)
		if (err == nil) != (streamErr == nil) {
			t.Fatalf("indexed: %v, streamed: %v", err, streamErr)
		}
		if err != nil {
			if !errors.Is(err, abi.ErrMalformed) || !errors.Is(streamErr, abi.ErrMalformed) {
				t.Fatalf("%v or %v does not wrap ErrMalformed", err, streamErr)
			}
			return
		}
		w := abi.NewTableWriter(nil, table.Columns())
		for r := range table.Len() {
			for c := range table.Columns() {
				v := table.Value(r, c)
				if !sameValue(v, rows[r][c]) {
					t.Fatalf("row %d column %d: indexed %v, streamed %v", r, c, v, rows[r][c])
				}
				w.Value(v)
			}
		}
		if again := w.Bytes(); !bytes.Equal(again, wire) {
			t.Fatalf("table %x was written again as %x", wire, again)
		}
	})
}

// readTable reads a table to its end without an index.
func readTable(wire []byte) (rows [][]abi.Value, err error) {
	r, err := abi.NewTableReader(wire)
	if err != nil {
		return nil, err
	}
	for {
		row := make([]abi.Value, r.Columns())
		if !r.Next(row) {
			return rows, r.Err()
		}
		rows = append(rows, row)
	}
}

func sameValue(a, b abi.Value) bool {
	return reflect.DeepEqual(valueTree(a), valueTree(b))
}

// FuzzValue reads one value.
func FuzzValue(f *testing.F) {
	for _, s := range tables() {
		for _, v := range s.values {
			f.Add(abi.AppendValue(nil, v))
		}
	}
	f.Fuzz(func(t *testing.T, wire []byte) {
		v, rest, err := abi.ReadValue(wire)
		if err != nil {
			if !errors.Is(err, abi.ErrMalformed) {
				t.Fatalf("%v does not wrap ErrMalformed", err)
			}
			return
		}
		if again := abi.AppendValue(nil, v); !bytes.Equal(append(again, rest...), wire) {
			t.Fatalf("%x was read as %v and %d bytes, and written as %x", wire, v, len(rest), again)
		}
	})
}

// FuzzFrame reads any bytes as a response frame.
func FuzzFrame(f *testing.F) {
	f.Add(abi.AppendOK(nil, nil))
	f.Add(abi.AppendOK(nil, &abi.Head{Epoch: 1, LastStep: -1}))
	f.Add(abi.AppendError(nil, &abi.Error{Code: abi.CodeConflict, Details: map[string]string{abi.DetailStep: "0"}}))
	f.Add([]byte{1, 0xff})
	f.Add([]byte{2})
	f.Fuzz(func(t *testing.T, frame []byte) {
		body, err := abi.ParseFrame(frame)
		var e *abi.Error
		switch {
		case err == nil:
			if frame[0] != abi.FrameOK || !bytes.Equal(body, frame[1:]) {
				t.Fatalf("%x gave body %x", frame, body)
			}
		case errors.As(err, &e):
			if frame[0] != abi.FrameError || e.Code == abi.CodeOK || e.Code > abi.CodeInternal {
				t.Fatalf("%x gave %v", frame, e)
			}
		case !errors.Is(err, abi.ErrFrame):
			t.Fatalf("%x: %v wraps neither an Error nor ErrFrame", frame, err)
		}
	})
}

// TestHostileInputIsCheap gives every decoder megabytes of the smallest elements there are, and
// headers that promise the moon.
func TestHostileInputIsCheap(t *testing.T) {
	const size, limit = 1 << 20, 32 << 20
	allocated := func(f func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	elements := map[string][]byte{"empty": {0}, "param": {2, 0x12, 0}, "small": {1, 0}, "entry": {4, 0x0a, 2, 'a', 'b'}}
	for _, m := range allMessages() {
		fields := schema(t)[messageName(m)].Fields()
		for i := range fields.Len() {
			if !fields.Get(i).IsList() && !fields.Get(i).IsMap() {
				continue
			}
			tag := byte(fields.Get(i).Number()<<3 | 2)
			for name, element := range elements {
				wire := bytes.Repeat(append([]byte{tag}, element...), size/(len(element)+1))
				got := newMessage(m)
				if n := allocated(func() { _ = got.Unmarshal(wire) }); n > limit {
					t.Errorf("%s field %s of %s elements: %d MiB allocated for %d MiB", messageName(m), fields.Get(i).Name(), name, n>>20, size>>20)
				}
			}
		}
	}
	nulls := append(abi.AppendTableHeader(nil, size/4, 4), make([]byte, size)...)
	if n := allocated(func() {
		if _, err := abi.ParseTable(nulls); err != nil {
			t.Error(err)
		}
	}); n > 5*size {
		t.Errorf("a table of %d nulls allocates %d bytes", size, n)
	}
	for _, s := range malformedTables() {
		if n := allocated(func() { _, _ = abi.ParseTable(s.wire) }); n > 64<<10 {
			t.Errorf("table %s: %d bytes allocated", s.name, n)
		}
	}
	// Beyond the limits the refusal says why.
	steps := bytes.Repeat([]byte{3<<3 | 2, 0}, abi.MaxSteps+1)
	if err := new(abi.SQLExec).Unmarshal(steps); err == nil || !strings.Contains(err.Error(), "too many elements") {
		t.Errorf("%d steps: %v", abi.MaxSteps+1, err)
	}
	if err := new(abi.SQLExec).Unmarshal(steps[2:]); err != nil {
		t.Errorf("%d steps: %v", abi.MaxSteps, err)
	}
	many := bytes.Repeat([]byte{3<<3 | 2, 0}, abi.MaxElements+1)
	if err := new(abi.Manifest).Unmarshal(many); err == nil || !strings.Contains(err.Error(), "too many elements") {
		t.Errorf("%d kinds: %v", abi.MaxElements+1, err)
	}
	if err := new(abi.Manifest).Unmarshal(many[2:]); err != nil {
		t.Errorf("%d kinds: %v", abi.MaxElements, err)
	}
}
