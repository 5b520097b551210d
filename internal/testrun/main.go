package main

import (
	_ "embed" // the expected skips are part of the program
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
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

// runOf names the run that lines of skips.txt may be for: "user", "race", or "" for neither.
func runOf(args []string, other bool) string {
	switch {
	case other:
		return "user"
	case slices.Contains(args, "-race"):
		return "race"
	}
	return ""
}

// run runs go test and returns the exit code.
func run(args []string, out io.Writer, strict bool) (int, error) {
	other := len(args) == 1 && args[0] == "-"
	expected, err := parseExpected(expectedSkips, runOf(args, other))
	if err != nil {
		return 1, err
	}
	report := newReport(out)
	if other {
		if err := report.read(os.Stdin); err != nil {
			return 1, fmt.Errorf("reading events: %w", err)
		}
		return min(report.finish(expected, strict)+report.failed+report.broken, 1), nil
	}
	// No context: a signal to the group ends both, and go test has a time limit of its own.
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...) //nolint:noctx // see above
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return 1, fmt.Errorf("connecting to go test: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return 1, fmt.Errorf("starting go test: %w", err)
	}
	readErr := report.read(events)
	waitErr := cmd.Wait()
	unexpected := report.finish(expected, strict)
	exit, exited := errors.AsType[*exec.ExitError](waitErr)
	switch {
	case exited:
		return max(exit.ExitCode(), 1), nil
	case waitErr != nil:
		return 1, fmt.Errorf("running go test: %w", waitErr)
	case readErr != nil:
		return 1, fmt.Errorf("reading what go test reports: %w", readErr)
	case unexpected > 0:
		return 1, nil
	}
	return 0, nil
}
