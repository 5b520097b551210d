// Command benchratio passes on what go test -bench prints and sets pairs of benchmarks in relation.
//
//	go test -run '^$' -bench . ./... | go run ./internal/benchratio plugin:native metered:plain
//
// An argument A:B pairs each benchmark that has A as a part of its name with the one that has B
// there instead: BenchmarkAppend/plugin/64 with BenchmarkAppend/native/64. The ratio is B's time an
// operation divided by A's, from the medians over -count runs, so that 1 is as fast and more is
// faster. Both run in one process and one after the other, which is what makes the ratio worth more
// than the times.
//
// Benchmarks that measure such a ratio themselves report it in a unit that begins with "of-"; these
// are listed too.
//
// imports: nothing of ours.
package main
