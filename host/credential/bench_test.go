package credential_test

import (
	"fmt"
	"testing"

	"github.com/alineo-labs/alineo-host/host/credential"
)

func BenchmarkRedactJSON(b *testing.B) {
	payload := []byte(`{"seq":12,"type":"stdout","text":"2026-11-29 23:14:59 INFO \u001b[1mcompiled\u001b[0m package github.com/example/module in 412 ms","timestamp":1796000000000}`)
	for _, known := range []int{0, 1, 10, 100, 1000} {
		r := credential.NewRedactor()
		for i := range known {
			r.Add(credential.NewSecret(fmt.Sprintf("ghp_%032d", i*7919)))
		}
		b.Run(fmt.Sprint("values=", known), func(b *testing.B) {
			b.SetBytes(int64(len(payload)))
			b.ReportAllocs()
			for b.Loop() {
				r.JSON(payload, true)
			}
		})
	}
}

func BenchmarkFlow(b *testing.B) {
	text := []byte("2026-11-29 23:14:59 INFO compiled package github.com/example/module in 412 ms")
	for _, known := range []int{1, 100} {
		r := credential.NewRedactor()
		for i := range known {
			r.Add(credential.NewSecret(fmt.Sprintf("ghp_%032d", i*7919)))
		}
		b.Run(fmt.Sprint("values=", known), func(b *testing.B) {
			f := credential.NewFlow[int](r)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				f.Push(0, text, func(int, []byte, bool) {})
			}
		})
	}
}
