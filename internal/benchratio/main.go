package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "benchratio:", err)
		os.Exit(1)
	}
}

// results are the values of each benchmark by unit, the benchmark named with its package, in the order in which they came.
type results struct {
	pkg    string // whose results come now, short
	names  []string
	values map[string]map[string][]float64
	failed bool
}

func run(args []string, in io.Reader, out io.Writer) error {
	var pairs [][2]string
	for _, arg := range args {
		a, b, ok := strings.Cut(arg, ":")
		if !ok || a == "" || b == "" {
			return fmt.Errorf("argument %q is not A:B", arg)
		}
		pairs = append(pairs, [2]string{a, b})
	}
	res, err := read(in, out)
	if err != nil {
		return fmt.Errorf("reading benchmarks: %w", err)
	}
	lines := res.ratios(pairs)
	if len(lines) > 0 {
		fmt.Fprintf(out, "\nRatios (1: as fast as what it is compared with; more is faster)\n%s", strings.Join(lines, ""))
	}
	if res.failed {
		return errors.New("a benchmark failed")
	}
	return nil
}

// read passes all lines on and keeps the results.
func read(in io.Reader, out io.Writer) (*results, error) {
	res := &results{values: map[string]map[string][]float64{}}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		line := lines.Text()
		if line != "PASS" && !strings.HasSuffix(line, "[no test files]") {
			fmt.Fprintln(out, line)
		}
		if strings.HasPrefix(line, "FAIL") || strings.HasPrefix(line, "--- FAIL") {
			res.failed = true
		}
		if pkg, ok := strings.CutPrefix(line, "pkg: "); ok {
			res.pkg = pkg[strings.LastIndexByte(pkg, '/')+1:] + " "
		}
		res.add(strings.Fields(line))
	}
	return res, lines.Err()
}

// add takes a line such as: BenchmarkX/y-2  1000  123 ns/op  4.5 of-native.
func (r *results) add(fields []string) {
	const fixed = 2 // the name and the number of rounds
	if len(fields) < fixed+2 || !strings.HasPrefix(fields[0], "Benchmark") {
		return
	}
	name := fields[0]
	if i := strings.LastIndexByte(name, '-'); i > 0 {
		if _, err := strconv.Atoi(name[i+1:]); err == nil {
			name = name[:i] // GOMAXPROCS
		}
	}
	name = r.pkg + name
	if r.values[name] == nil {
		r.names = append(r.names, name)
		r.values[name] = map[string][]float64{}
	}
	for i := fixed; i+1 < len(fields); i += 2 {
		if value, err := strconv.ParseFloat(fields[i], 64); err == nil {
			unit := fields[i+1]
			r.values[name][unit] = append(r.values[name][unit], value)
		}
	}
}

// ratios are the lines of the report.
func (r *results) ratios(pairs [][2]string) []string {
	var lines []string
	for _, name := range r.names {
		for _, pair := range pairs {
			other, ok := swap(name, pair[0], pair[1])
			mine, theirs := r.values[name]["ns/op"], r.values[other]["ns/op"]
			if ok && len(mine) > 0 && len(theirs) > 0 && median(mine) > 0 {
				lines = append(lines, line(median(theirs)/median(mine), pair[1], name))
			}
		}
		units := make([]string, 0, len(r.values[name]))
		for unit := range r.values[name] {
			if strings.HasPrefix(unit, "of-") {
				units = append(units, unit)
			}
		}
		slices.Sort(units)
		for _, unit := range units {
			lines = append(lines, line(median(r.values[name][unit]), strings.TrimPrefix(unit, "of-"), name))
		}
	}
	return lines
}

func line(ratio float64, base, name string) string {
	return fmt.Sprintf("  %5.2f of %-10s %s\n", ratio, base, name)
}

// swap replaces the part of a benchmark's name that is a by b.
func swap(name, a, b string) (string, bool) {
	parts := strings.Split(name, "/")
	i := slices.Index(parts, a)
	if i < 0 {
		return "", false
	}
	parts[i] = b
	return strings.Join(parts, "/"), true
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}
