package main

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// mostAgain is how many tests, subtests included, or packages may have failed for them to be run again: more is
// no chance.
const mostAgain = 10

// second is what is to be run again of a package: all but the tests that match without.
type second struct {
	pkg, without string
}

// again closes the first run and returns what to run again: the tests that failed or did not end, and those that
// had not begun when their package ended. It returns nothing when that can't help, or must not: code that does
// not compile, a crash, a data race, many failures at once, or a test that looks for what is lost seldom (TestChaos…).
func (r *report) again() []second {
	r.flush()
	if r.failed+r.broken == 0 || max(r.failed, r.broken) > mostAgain || r.final {
		return nil
	}
	var all []second
	for _, pkg := range slices.Sorted(maps.Keys(r.bad)) {
		s := second{pkg: pkg}
		if r.bad[pkg] { // else it was what surrounds its tests
			var ended []string
			for _, name := range slices.Sorted(maps.Keys(r.ended[pkg])) {
				ended = append(ended, regexp.QuoteMeta(name))
			}
			if len(ended) > 0 {
				s.without = "^(" + strings.Join(ended, "|") + ")$"
			}
		}
		all = append(all, s)
	}
	fmt.Fprintf(r.out, "\n== once more, alone: what failed of %d packages\n", len(all))
	r.once, r.names = r.names, nil
	r.failed, r.broken = 0, 0
	clear(r.bad)
	return all
}

// crashed tells whether a line says what no second run may hide. A test that hangs is stopped by a panic too,
// but says nothing of the kind.
func crashed(line string) bool {
	if strings.HasPrefix(line, "panic: test timed out") {
		return false
	}
	return strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") || strings.HasPrefix(line, "WARNING: DATA RACE")
}

// sayAgain names the tests that failed once, and passed when they ran again.
func (r *report) sayAgain() {
	if len(r.once) == 0 {
		return
	}
	passed := slices.DeleteFunc(slices.Clone(r.once), func(t test) bool { return slices.Contains(r.names, t) })
	if len(passed) > 0 {
		fmt.Fprintf(r.out, "\nFAILED ONCE, passed alone (%d; what they printed is above):\n", len(passed))
	}
	for _, t := range passed {
		fmt.Fprintf(r.out, "  %s %s\n", short(t.pkg), cmp.Or(t.name, "(outside its tests)"))
	}
}
