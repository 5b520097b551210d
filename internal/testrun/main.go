package main

import (
	_ "embed" // the expected skips are part of the program
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

//go:embed skips.txt
var expectedSkips string

func main() {
	code, err := run(os.Args[1:], os.Stdout, os.Getenv("CI") == "true")
	if err != nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// runner runs tests and prints the events of go test -json.
type runner struct {
	by       string   // a command that is given a package and the pattern of tests to leave out; else go test
	flags    []string // go test's
	packages []string
}

// parse splits the arguments of the command.
func parse(args []string) (runner, error) {
	var r runner
	for i, arg := range args {
		by, isBy := strings.CutPrefix(arg, "-by=")
		switch {
		case isBy:
			r.by = by
		case strings.HasPrefix(arg, "-"):
			r.flags = append(r.flags, arg)
		default:
			r.packages = args[i:]
			return r, nil
		}
	}
	return r, errors.New("no packages: testrun [-FLAG[=VALUE]]… PACKAGE…")
}

// name is what lines of skips.txt call this run: "user", "race", or "" for neither.
func (r runner) name() string {
	switch {
	case r.by != "":
		return "user"
	case slices.Contains(r.flags, "-race"):
		return "race"
	}
	return ""
}

// all runs every test.
func (r runner) all(into *report) error {
	if r.by == "" {
		return into.follow(exec.Command("go", slices.Concat([]string{"test", "-json"}, r.flags, r.packages)...)) //nolint:noctx // a signal to the group ends both, and go test has a time limit of its own
	}
	for _, pkg := range r.packages {
		if err := r.one(into, pkg, ""); err != nil {
			return err
		}
	}
	return nil
}

// one runs the tests of a package, but for those that match a pattern.
func (r runner) one(into *report, pkg, without string) error {
	if r.by != "" {
		return into.follow(exec.Command(r.by, pkg, without)) //nolint:noctx,gosec // as above; the command is the caller's
	}
	args := slices.Concat([]string{"test", "-json"}, r.flags)
	if without != "" {
		patterns := []string{without}
		for _, flag := range r.flags { // of two such flags, the last holds
			if skip, ok := strings.CutPrefix(flag, "-skip="); ok {
				patterns = append(patterns, skip)
			}
		}
		args = append(args, "-skip="+strings.Join(patterns, "|"))
	}
	return into.follow(exec.Command("go", append(args, pkg)...)) //nolint:noctx,gosec // as above
}

// follow runs a command and reads its events. That tests failed is not an error of it.
func (r *report) follow(cmd *exec.Cmd) error {
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("connecting to %s: %w", cmd, err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", cmd, err)
	}
	before := r.failed + r.broken
	readErr := r.read(events)
	err = cmd.Wait()
	if _, exited := errors.AsType[*exec.ExitError](err); exited {
		if r.failed+r.broken == before {
			return fmt.Errorf("running %s: %w, though no test failed", cmd, err)
		}
		err = nil
	}
	return errors.Join(readErr, err)
}

// run runs the tests and returns the exit code.
func run(args []string, out io.Writer, strict bool) (int, error) {
	by, err := parse(args)
	if err != nil {
		return 2, err
	}
	expected, err := parseExpected(expectedSkips, by.name())
	if err != nil {
		return 1, err
	}
	report := newReport(out)
	for _, flag := range by.flags {
		if pattern, ok := strings.CutPrefix(flag, "-skip="); ok {
			fmt.Fprintf(out, "LEFT OUT, by name: %s\n", pattern)
		}
	}
	if err := by.all(report); err != nil {
		return 1, err
	}
	for _, again := range report.again() {
		if err := by.one(report, again.pkg, again.without); err != nil {
			return 1, err
		}
	}
	if unexpected := report.finish(expected, strict); unexpected+report.failed+report.broken > 0 {
		return 1, nil
	}
	return 0, nil
}
