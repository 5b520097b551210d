package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

const module = "github.com/alineo-labs/alineo-host"

// event is a line of go test -json.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
}

// test names one test or subtest.
type test struct {
	pkg, name string
}

// skip is a test that did not run, and why.
type skip struct {
	test
	reason string
}

// report turns events into the output of go test without -v.
type report struct {
	out    io.Writer
	output map[test][]string // of tests that have not ended
	skips  []skip
	passed int
	failed int // tests
	broken int // packages
}

func newReport(out io.Writer) *report {
	return &report{out: out, output: map[test][]string{}}
}

// read follows a run to its end. Lines that are no events, such as a compiler's, are passed on.
func (r *report) read(events io.Reader) error {
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		switch {
		case len(line) == 0:
		case line[0] != '{' || json.Unmarshal(line, &e) != nil:
			fmt.Fprintf(r.out, "%s", line)
		default:
			r.event(e)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *report) event(e event) {
	of := test{e.Package, e.Test}
	switch e.Action {
	case "output", "build-output":
		if e.Test == "" {
			r.packageLine(e.Output)
			return
		}
		r.output[of] = append(r.output[of], e.Output)
	case "pass":
		if e.Test != "" {
			r.passed++
		}
		delete(r.output, of)
	case "skip":
		if e.Test != "" {
			r.skips = append(r.skips, skip{of, reason(r.output[of])})
		}
		delete(r.output, of)
	case "fail":
		if e.Test != "" {
			r.failed++
		} else {
			r.broken++ // perhaps outside any test
		}
		for _, line := range r.output[of] {
			if !strings.HasPrefix(line, "=== ") { // what only -v shows
				fmt.Fprint(r.out, line)
			}
		}
		delete(r.output, of)
	}
}

// packageLine passes on what a package says: its closing line and what it printed outside tests.
// "PASS" alone is what go test leaves out too.
func (r *report) packageLine(line string) {
	if line != "PASS\n" && !strings.HasSuffix(line, "[no test files]\n") {
		fmt.Fprint(r.out, line)
	}
}

// reason is the text that a test gave to Skip.
func reason(output []string) string {
	var text []string
	for _, line := range output {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "=== ") || strings.HasPrefix(trimmed, "--- SKIP") {
			continue
		}
		// "file_test.go:12: the reason"
		if place, rest, ok := strings.Cut(trimmed, ": "); ok && strings.Contains(place, ".go:") {
			trimmed = rest
		}
		if trimmed != "" {
			text = append(text, trimmed)
		}
	}
	return strings.Join(text, " ")
}

// finish shows what a crash left behind and what was skipped, and returns the number of skips that
// nobody expected.
func (r *report) finish(expected []skip, strict bool) int {
	for of, lines := range r.output {
		if of.name == "" || len(lines) == 0 {
			continue
		}
		fmt.Fprintf(r.out, "--- did not end: %s %s\n%s", short(of.pkg), of.name, strings.Join(lines, ""))
	}
	unexpected := 0
	slices.SortFunc(r.skips, func(a, b skip) int { return strings.Compare(a.pkg+" "+a.name, b.pkg+" "+b.name) })
	if len(r.skips) > 0 {
		fmt.Fprintf(r.out, "\nSKIPPED, so not tested here (%d):\n", len(r.skips))
	}
	for _, s := range r.skips {
		mark := ""
		if strict && !slices.ContainsFunc(expected, s.matches) {
			mark = " (a failure in CI: install what it needs, or expect it in internal/testrun/skips.txt)"
			unexpected++
		}
		fmt.Fprintf(r.out, "  %s %s: %s%s\n", short(s.pkg), s.name, s.reason, mark)
	}
	fmt.Fprintf(r.out, "\n%d passed, %d failed, %d skipped\n", r.passed, r.failed, len(r.skips))
	return unexpected
}

func short(pkg string) string { return strings.TrimPrefix(pkg, module+"/") }

// matches says whether a line of skips.txt covers a skip.
func (s skip) matches(pattern skip) bool {
	pkg, err := path.Match(pattern.pkg, short(s.pkg))
	if pattern.pkg != "..." && (err != nil || !pkg) {
		return false
	}
	name, err := path.Match(pattern.name, s.name)
	return err == nil && name
}

// parseExpected reads skips.txt: the lines for every run, and those that begin with the name of this one.
func parseExpected(text, run string) ([]skip, error) {
	var all []skip
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		only := ""
		for _, name := range [...]string{"user", "race"} {
			if rest, ok := strings.CutPrefix(line, name+" "); ok {
				only, line = name, rest
			}
		}
		const parts = 3
		fields := strings.SplitN(line, " ", parts)
		if len(fields) < parts || strings.TrimSpace(fields[2]) == "" {
			return nil, fmt.Errorf("skips.txt:%d: want PACKAGE TEST REASON", number)
		}
		for _, pattern := range fields[:2] {
			if _, err := path.Match(pattern, ""); err != nil {
				return nil, fmt.Errorf("skips.txt:%d: %q: %w", number, pattern, err)
			}
		}
		if only != "" && only != run {
			continue
		}
		all = append(all, skip{test{fields[0], fields[1]}, fields[2]})
	}
	return all, nil
}
