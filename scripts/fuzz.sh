#!/bin/sh
# Runs every fuzz target of the module for $FUZZTIME. What a target finds is kept by go test under
# testdata/fuzz: commit it with the fix.
set -eu
failed=
for file in $(find . -name '*_test.go' -not -path './bin/*' | sort | xargs grep -l '^func Fuzz'); do
	dir=$(dirname "$file")
	for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file"); do
		# Shrinking an input that is merely interesting is not worth the seconds.
		if out=$(go test -run '^$' -fuzz "^$target\$" -fuzztime "$FUZZTIME" -fuzzminimizetime 10x "$dir" 2>&1); then
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
