#!/bin/sh
# Runs every fuzz target of the module for $FUZZTIME. What a target finds is kept by go test under
# testdata/fuzz: commit it with the fix.
set -eu
failed=
# Go before 1.27 sometimes calls the end of the time a failure (go.dev/issue/75804). A target that
# failed has written its input, or says more than this one line.
timed_out() {
	echo "$1" | grep -q '^    context deadline exceeded$' && ! echo "$1" | grep -qE 'Failing input|_test\.go:|panic:'
}
for file in $(find . -name '*_test.go' -not -path './bin/*' | sort | xargs grep -l '^func Fuzz'); do
	dir=$(dirname "$file")
	for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file"); do
		# Shrinking an input that is merely interesting is not worth the seconds.
		if out=$(go test -run '^$' -fuzz "^$target\$" -fuzztime "$FUZZTIME" -fuzzminimizetime 10x "$dir" 2>&1) || timed_out "$out"; then
			runs=$(echo "$out" | sed -n 's/.*, execs: \([0-9]*\).*/\1/p' | tail -1)
			echo "$dir $target: ${runs:-only the kept} inputs"
		else
			echo "$out"
			failed="$failed $dir:$target"
		fi
	done
done
if [ -n "$failed" ]; then
	echo "FAILED:$failed"
	exit 1
fi
