package main

import (
	"strings"
	"testing"
)

const events = `{"Action":"start","Package":"github.com/alineo-labs/alineo-host/abi"}
{"Action":"run","Package":"github.com/alineo-labs/alineo-host/abi","Test":"TestA"}
{"Action":"output","Package":"github.com/alineo-labs/alineo-host/abi","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"github.com/alineo-labs/alineo-host/abi","Test":"TestA","Output":"    a_test.go:3: kernel: too old\n"}
{"Action":"output","Package":"github.com/alineo-labs/alineo-host/abi","Test":"TestA","Output":"--- SKIP: TestA (0.00s)\n"}
{"Action":"skip","Package":"github.com/alineo-labs/alineo-host/abi","Test":"TestA","Elapsed":0}
{"Action":"output","Package":"github.com/alineo-labs/alineo-host/abi","Test":"TestB","Output":"=== CONT  TestB\n"}
{"Action":"output","Package":"github.com/alineo-labs/alineo-host/abi","Test":"TestB","Output":"    b_test.go:1: wrong\n"}
{"Action":"fail","Package":"github.com/alineo-labs/alineo-host/abi","Test":"TestB"}
{"Action":"output","Package":"github.com/alineo-labs/alineo-host/abi","Test":"TestC","Output":"chatter\n"}
{"Action":"pass","Package":"github.com/alineo-labs/alineo-host/abi","Test":"TestC"}
{"Action":"output","Package":"github.com/alineo-labs/alineo-host/abi","Test":"TestD","Output":"crashed here\n"}
{"Action":"output","Package":"github.com/alineo-labs/alineo-host/abi","Output":"PASS\n"}
{"Action":"output","Package":"github.com/alineo-labs/alineo-host/abi","Output":"ok  \tgithub.com/alineo-labs/alineo-host/abi\t0.1s\n"}
{"ImportPath":"x","Action":"build-output","Output":"x.go:1: does not compile\n"}
a line of somebody else`

func TestReport(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	r := newReport(&out)
	if err := r.read(strings.NewReader(events)); err != nil {
		t.Fatal(err)
	}
	if got := r.finish(nil, true); got != 1 {
		t.Errorf("%d unexpected skips, want 1", got)
	}
	want := "    b_test.go:1: wrong\n" +
		"ok  \tgithub.com/alineo-labs/alineo-host/abi\t0.1s\n" +
		"x.go:1: does not compile\n" +
		"a line of somebody else" +
		"--- did not end: abi TestD\ncrashed here\n" +
		"\nSKIPPED, so not tested here (1):\n" +
		"  abi TestA: kernel: too old (a failure in CI: install what it needs, or expect it in internal/testrun/skips.txt)\n" +
		"\n1 passed, 1 failed, 1 skipped\n"
	if out.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", out.String(), want)
	}
}

func TestExpectedSkips(t *testing.T) {
	t.Parallel()
	expected, err := parseExpected("# comment\n\nhost/* Test[AB]* has no such kernel\nuser host/* TestC only root can\nrace host/* TestC takes minutes\n", "")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"TestA": 0, "TestBoth": 0, "TestC": 1} {
		r := newReport(&strings.Builder{})
		r.skips = []skip{{test{module + "/host/engine", name}, ""}}
		if got := r.finish(expected, true); got != want {
			t.Errorf("%s: %d unexpected, want %d", name, got, want)
		}
		if got := r.finish(nil, false); got != 0 {
			t.Errorf("%s: %d unexpected where skips are fine", name, got)
		}
	}
	if all, err := parseExpected("a b c\nuser a b c\nrace a b c\n", "user"); err != nil || len(all) != 2 {
		t.Errorf("for an ordinary user: %v, %v", all, err)
	}
	for _, bad := range []string{"host TestA", "host TestA  ", "[ TestA reason"} {
		if _, err := parseExpected(bad, "user"); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	if _, err := parseExpected(expectedSkips, "race"); err != nil {
		t.Error(err)
	}
}
