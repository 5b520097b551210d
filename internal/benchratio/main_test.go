package main

import (
	"strings"
	"testing"
)

func TestRatios(t *testing.T) {
	t.Parallel()
	in := `goos: linux
BenchmarkAppend/plugin/64-2   1000   200 ns/op   3 allocs/op
BenchmarkAppend/plugin/64-2   1000   400 ns/op
BenchmarkAppend/native/64-2   1000   270 ns/op
BenchmarkAppend/plugin/512-2   1000   100 ns/op
pkg: example.com/x/adapter
BenchmarkProgram/events=64   10   50 ns/op   0.987 of-native   1.5 of-driver
PASS
`
	var out strings.Builder
	if err := run([]string{"plugin:native"}, strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	want := in + `
Ratios (1: as fast as what it is compared with; more is faster)
   0.90 of native     BenchmarkAppend/plugin/64
   1.50 of driver     adapter BenchmarkProgram/events=64
   0.99 of native     adapter BenchmarkProgram/events=64
`
	if want = strings.Replace(want, "PASS\n", "", 1); out.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", out.String(), want)
	}
	if err := run(nil, strings.NewReader("--- FAIL: BenchmarkX\n"), &out); err == nil {
		t.Error("a failed benchmark passed")
	}
	if err := run([]string{"plugin"}, strings.NewReader(""), &out); err == nil {
		t.Error("a pair of one was taken")
	}
}
