// Command testrun runs go test and says loudly what was left out.
//
//	go run ./internal/testrun -race ./...
//
// The arguments are flags of go test, with their values after "=", and packages. The output is go test's usual
// one without -v: a line for each package, and all of a test that failed. At the end come the skipped tests,
// each with the reason that it gave.
//
// What failed runs once more when everything has ended, with nothing beside it, and counts when it fails again. Tests
// that passed then are named under FAILED ONCE: most were kept waiting by the tests beside them, but it may be a
// fault that shows seldom. A crash, a data race, code that does not compile, what
// TestChaos… finds and more than a few failures are never tried again. docs/decisions/0028-failed-tests-run-again.md has the reasons.
//
// With CI=true in the environment a skipped test is a failure, unless skips.txt, beside this file,
// expects it: the build machine installs what tests need, so a skip there is a hole. A line of
// skips.txt is PACKAGE TEST REASON, the first two as patterns of path.Match, the package below the
// module ("..." is any package).
//
// With -by=COMMAND tests are not run by go test: COMMAND PACKAGE PATTERN runs the tests of a package as
// an ordinary user, but for those that match, and prints the events of go test -json; lines of skips.txt that begin
// with "user" hold then. Those that begin with "race" hold when -race is among the arguments.
//
// The exit code is 0, 1 for a failed test or an unexpected skip, or 2 for wrong arguments.
//
// imports: nothing of ours.
package main
