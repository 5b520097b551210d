package main

import (
	"encoding/xml"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/alineo-labs/alineo-host/host"
)

// pluginTestView shows a plugin's test as it runs.
type pluginTestView struct {
	out   *output
	plan  host.PluginTestPlan
	done  int
	err   error // of writing
	bad   []string
	shown bool // a line of progress stands on the terminal
}

// The lines of --json.
type (
	planLine struct {
		Type string `json:"type"` // "plan"
		host.PluginTestPlan
	}
	caseLine struct {
		Type string `json:"type"` // "case"
		host.PluginTestCase
	}
	measuresLine struct {
		Type string `json:"type"` // "measures"
		host.PluginMeasures
	}
	summaryLine struct {
		Type   string        `json:"type"` // "summary"
		Passed int           `json:"passed"`
		Failed int           `json:"failed"`
		NotRun int           `json:"notRun"`
		Took   time.Duration `json:"tookNs"`
	}
)

func (v *pluginTestView) keep(err error) {
	if v.err == nil {
		v.err = err
	}
}

func (v *pluginTestView) begun(plan host.PluginTestPlan) {
	v.plan = plan
	switch {
	case v.out.json:
		v.keep(v.out.data(planLine{"plan", plan}))
		return
	case v.out.quiet:
		return
	}
	m := plan.Manifest
	v.keep(v.out.printf("plugin    %s %s (%s; state %s)\n", oneLine(m.Name, maxCell), oneLine(m.Version, maxCell), strings.Join(m.Kinds, ", "), stateName(m.State)))
	for _, g := range plan.Grants {
		v.keep(v.out.printf("granted   %s %q: %s\n          wanted because: %s\n", g.Capability, g.Resource, g.As, oneLine(g.Reason, maxLast)))
	}
	if len(plan.Grants) == 0 {
		v.keep(v.out.printf("granted   nothing; it asks for nothing\n"))
	}
	v.keep(v.out.printf("features  %s\n", orDash(strings.Join(plan.Features, ", "))))
	v.keep(v.out.printf("cases     %d, each %s (seed %d)\n\n", plan.Cases, times(plan.Rounds), plan.Seed))
	v.progress()
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// progress shows on a terminal that it goes on.
func (v *pluginTestView) progress() {
	if v.out.terminal && !v.out.quiet && !v.out.json {
		_, err := fmt.Fprintf(v.out.err, "\r\x1b[K%d of %d", v.done, v.plan.Cases)
		v.keep(err)
		v.shown = true
	}
}

// clear takes the line of progress away.
func (v *pluginTestView) clear() {
	if v.shown {
		_, err := fmt.Fprint(v.out.err, "\r\x1b[K")
		v.keep(err)
		v.shown = false
	}
}

func (v *pluginTestView) ended(c host.PluginTestCase) {
	v.done++
	if c.Status == host.PluginTestFailed {
		v.bad = append(v.bad, c.Name)
	}
	if v.out.json {
		v.keep(v.out.data(caseLine{"case", c}))
		return
	}
	if v.out.quiet && c.Status != host.PluginTestFailed {
		return
	}
	v.clear()
	switch c.Status {
	case host.PluginTestPassed:
		v.keep(v.out.printf("✓ %-30s %s\n", c.Name, millis(c.Took)))
	case host.PluginTestNotRun:
		v.keep(v.out.printf("– %-30s %s\n", c.Name, oneLine(strings.Join(c.Messages, "; "), maxLast)))
	case host.PluginTestFailed:
		v.keep(v.out.printf("✗ %-30s %s\n    rule: %s\n", c.Name, millis(c.Took), c.Rule))
		if c.Failure != "" {
			v.keep(v.out.printf("    the guest ended by: %s\n", c.Failure))
		}
		for _, message := range c.Messages {
			for line := range strings.SplitSeq(strings.TrimRight(message, "\n"), "\n") {
				v.keep(v.out.printf("    %s\n", oneLine(line, maxLast)))
			}
		}
	}
	v.progress()
}

func millis(d time.Duration) string {
	return fmt.Sprintf("%d ms", d.Round(time.Millisecond).Milliseconds())
}

// measured shows what the plugin costs.
func (v *pluginTestView) measured(m host.PluginMeasures) {
	switch {
	case v.out.json:
		v.keep(v.out.data(measuresLine{"measures", m}))
	case !v.out.quiet:
		v.keep(v.out.printf("\n"))
		for _, row := range measureRows(m) {
			v.keep(v.out.printf("%-14s %s\n", row[0], row[1]))
		}
	}
}

// summary says how it ended and what to do next.
func (v *pluginTestView) summary(report host.PluginTestReport, pin string) error {
	if v.out.json {
		v.keep(v.out.data(summaryLine{"summary", report.Passed, report.Failed, report.NotRun, report.Took}))
		return v.err
	}
	v.clear()
	v.keep(v.out.printf("\n%d passed, %d failed, %d not run in %s\n", report.Passed, report.Failed, report.NotRun, report.Took.Round(10*time.Millisecond)))
	if len(v.bad) > 0 {
		shown := v.bad[:min(len(v.bad), 10)]
		v.keep(v.out.printf("\nfailed: %s", strings.Join(shown, ", ")))
		if more := len(v.bad) - len(shown); more > 0 {
			v.keep(v.out.printf(" and %d more", more))
		}
		v.keep(v.out.printf("\none alone: --run '^%s$'\n", v.bad[0]))
	}
	if pin != "" && !v.out.quiet {
		v.keep(v.out.printf("\nto use it, put this into alineo.toml:\n\n%s", pin))
	}
	return v.err
}

// JUnit's document, as far as everybody reads it.
type (
	junitSuite struct {
		XMLName  xml.Name    `xml:"testsuite"`
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Time     float64     `xml:"time,attr"` // seconds
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string     `xml:"classname,attr"`
		Name    string     `xml:"name,attr"`
		Time    float64    `xml:"time,attr"` // seconds
		Failure *junitText `xml:"failure"`
		Skipped *junitText `xml:"skipped"`
	}
	junitText struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// writeJUnit writes a report for those who read JUnit's form.
func writeJUnit(file string, report host.PluginTestReport) error {
	suite := junitSuite{
		Name: "alineo-host plugin test " + report.Plan.Name, Tests: len(report.Cases), Failures: report.Failed,
		Skipped: report.NotRun, Time: report.Took.Seconds(),
	}
	for _, c := range report.Cases {
		group, _, _ := strings.Cut(c.Name, "/")
		one := junitCase{Class: group, Name: c.Name, Time: c.Took.Seconds()}
		text := &junitText{Message: c.Rule, Text: strings.Join(c.Messages, "\n")}
		switch c.Status {
		case host.PluginTestFailed:
			one.Failure = text
		case host.PluginTestNotRun:
			one.Skipped = text
		case host.PluginTestPassed:
		}
		suite.Cases = append(suite.Cases, one)
	}
	text, err := xml.MarshalIndent(suite, "", "  ")
	if err != nil {
		return fmt.Errorf("writing %s: %w", file, err)
	}
	if err := os.WriteFile(file, append([]byte(xml.Header), append(text, '\n')...), 0o600); err != nil {
		return fmt.Errorf("writing the JUnit report: %w", err)
	}
	return nil
}
