// Command testrun runs go test and says loudly what was left out.
//
//	go run ./internal/testrun -race ./...
//
// The arguments are go test's. The output is go test's usual one without -v: a line for each
// package, and all of a test that failed. At the end come the skipped tests, each with the reason
// that it gave.
//
// With CI=true in the environment a skipped test is a failure, unless skips.txt, beside this file,
// expects it: the build machine installs what tests need, so a skip there is a hole. A line of
// skips.txt is PACKAGE TEST REASON, the first two as patterns of path.Match, the package below the
// module ("..." is any package).
//
// With the one argument "-" it runs nothing and reads the events of an ordinary user's run from its
// input; lines of skips.txt that begin with "user" hold then. Those that begin with "race" hold when -race is
// among the arguments.
//
// The exit code is go test's, or 1 for an unexpected skip.
//
// imports: nothing of ours.
package main
