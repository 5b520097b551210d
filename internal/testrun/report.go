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
	Action      string
	Package     string
	Test        string
	Output      string
	FailedBuild string
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
	passed map[test]bool
	failed int // tests
	broken int // packages

	names []test                     // that failed, or did not end; a package alone, if it was none of its tests
	once  []test                     // those of the first run, once there is a second
	ended map[string]map[string]bool // by package: the tests that passed or were skipped
	bad   map[string]bool            // the packages that failed, and whether a test of theirs did
	final bool                       // something failed that no second run may hide
}

func newReport(out io.Writer) *report {
	return &report{out: out, output: map[test][]string{}, passed: map[test]bool{}, ended: map[string]map[string]bool{}, bad: map[string]bool{}}
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
		r.final = r.final || crashed(e.Output)
		if e.Test == "" {
			r.packageLine(e.Output)
			return
		}
		r.output[of] = append(r.output[of], e.Output)
	case "pass":
		if e.Test != "" {
			r.passed[of] = true
			r.end(of)
		}
		delete(r.output, of)
	case "skip":
		if e.Test != "" {
			r.skips = append(r.skips, skip{of, reason(r.output[of])})
			r.end(of)
		}
		delete(r.output, of)
	case "fail":
		if e.Test != "" {
			r.failed++
			r.blame(of)
		} else {
			r.broken++ // perhaps outside any test
			if _, known := r.bad[e.Package]; !known {
				r.bad[e.Package] = false
			}
			r.final = r.final || e.FailedBuild != ""
		}
		for _, line := range r.output[of] {
			if !strings.HasPrefix(line, "=== ") { // what only -v shows
				fmt.Fprint(r.out, line)
			}
		}
		delete(r.output, of)
	}
}

func (r *report) end(of test) {
	if r.ended[of.pkg] == nil {
		r.ended[of.pkg] = map[string]bool{}
	}
	if !strings.Contains(of.name, "/") {
		r.ended[of.pkg][of.name] = true
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

// flush shows what tests printed that did not end.
func (r *report) flush() {
	for of, lines := range r.output {
		if of.name == "" || len(lines) == 0 {
			continue
		}
		fmt.Fprintf(r.out, "--- did not end: %s %s\n%s", short(of.pkg), of.name, strings.Join(lines, ""))
		r.blame(of)
	}
	clear(r.output)
	for pkg, tests := range r.bad {
		if !tests {
			r.names = append(r.names, test{pkg: pkg})
		}
	}
}

// blame keeps a test that failed, or did not end.
func (r *report) blame(of test) {
	r.names = append(r.names, of)
	r.bad[of.pkg] = true
	r.final = r.final || strings.HasPrefix(of.name, "TestChaos")
}

// finish shows what a crash left behind and what was skipped, and returns the number of skips that
// nobody expected.
func (r *report) finish(expected []skip, strict bool) int {
	r.flush()
	unexpected := 0
	slices.SortFunc(r.skips, func(a, b skip) int { return strings.Compare(a.pkg+" "+a.name, b.pkg+" "+b.name) })
	r.skips = slices.Compact(r.skips) // those in a test that ran twice
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
	r.sayAgain()
	fmt.Fprintf(r.out, "\n%d passed, %d failed, %d skipped\n", len(r.passed), r.failed, len(r.skips))
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
