package abi_test

import (
	"strconv"
	"testing"

	"github.com/alineo-labs/alineo-host/abi"
)

func BenchmarkRequest(b *testing.B) {
	req := abi.Request{CallID: 123456, DeadlineMS: 5000, Traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", Body: make([]byte, 256)}
	wire := req.AppendTo(nil)
	b.Run("append", func(b *testing.B) {
		b.ReportAllocs()
		buf := make([]byte, 0, len(wire))
		for b.Loop() {
			buf = req.AppendTo(buf[:0])
		}
	})
	b.Run("unmarshal", func(b *testing.B) {
		b.ReportAllocs()
		var got abi.Request
		for b.Loop() {
			if err := got.Unmarshal(wire); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkProgram(b *testing.B) {
	var program *abi.SQLExec
	for _, s := range samples() {
		if s.name == "SQLExec/append" {
			program = s.message.(*abi.SQLExec)
		}
	}
	wire := program.AppendTo(nil)
	b.Run("append", func(b *testing.B) {
		b.ReportAllocs()
		buf := make([]byte, 0, len(wire))
		for b.Loop() {
			buf = program.AppendTo(buf[:0])
		}
	})
	b.Run("unmarshal", func(b *testing.B) {
		b.ReportAllocs()
		var got abi.SQLExec
		for b.Loop() {
			if err := got.Unmarshal(wire); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkTable is a page of 512 entries of nine columns and 203 bytes of payload; ns/op is a page.
func BenchmarkTable(b *testing.B) {
	payload := abi.JSON(make([]byte, 203))
	row := []abi.Value{
		abi.Int(1), abi.Text("sb-0123456789"), abi.Text("build"), abi.Int(41), abi.Null, abi.Text("exec.output"), payload, abi.Null, abi.Int(1764432000123),
	}
	page := func(dst []byte) []byte {
		w := abi.NewTableWriter(dst, len(row))
		for range 512 {
			w.Row(row...)
		}
		return w.Bytes()
	}
	wire := page(nil)
	report := func(b *testing.B, f func()) {
		b.ReportAllocs()
		b.SetBytes(int64(len(wire)))
		for b.Loop() {
			f()
		}
	}
	b.Run("append", func(b *testing.B) {
		buf := make([]byte, 0, len(wire))
		report(b, func() { buf = page(buf[:0]) })
	})
	b.Run("parse", func(b *testing.B) {
		var table abi.Table
		report(b, func() {
			if err := table.Parse(wire); err != nil {
				b.Fatal(err)
			}
		})
	})
	b.Run("stream", func(b *testing.B) {
		values := make([]abi.Value, len(row))
		report(b, func() {
			r, err := abi.NewTableReader(wire)
			if err != nil {
				b.Fatal(err)
			}
			for r.Next(values) {
			}
			if r.Err() != nil {
				b.Fatal(r.Err())
			}
		})
	})
}

func BenchmarkError(b *testing.B) {
	e := abi.Error{Code: abi.CodeConflict, Message: "head has moved", Details: map[string]string{}}
	for i := range 3 {
		e.Details["k"+strconv.Itoa(i)] = "v"
	}
	frame := abi.AppendError(nil, &e)
	b.Run("append", func(b *testing.B) {
		b.ReportAllocs()
		buf := make([]byte, 0, len(frame))
		for b.Loop() {
			buf = abi.AppendError(buf[:0], &e)
		}
	})
	b.Run("parse", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := abi.ParseFrame(frame); err == nil {
				b.Fatal("no error")
			}
		}
	})
}
