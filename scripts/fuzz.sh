#!/bin/sh
# Runs every fuzz target of the module for $FUZZTIME, as many at a time as there are processors. What a target
# finds is kept by go test under testdata/fuzz: commit it with the fix.
#
# fuzz.sh DIR TARGET runs one.
set -eu

# Go before 1.27 sometimes calls the end of the time a failure (go.dev/issue/75804). A target that
# failed has written its input, or says more than this one line.
timed_out() {
	echo "$1" | grep -q '^    context deadline exceeded$' && ! echo "$1" | grep -qE 'Failing input|_test\.go:|panic:'
}

one() {
	# Shrinking an input that is merely interesting is not worth the seconds.
	if out=$(go test -run '^$' -fuzz "^$2\$" -fuzztime "$FUZZTIME" -fuzzminimizetime 10x -parallel 1 "$1" 2>&1) || timed_out "$out"; then
		runs=$(echo "$out" | sed -n 's/.*, execs: \([0-9]*\).*/\1/p' | tail -1)
		echo "$1 $2: ${runs:-only the kept} inputs"
	else
		echo "$out
FAILED: $1 $2"
		return 1
	fi
}

if [ $# = 2 ]; then
	one "$1" "$2"
	exit
fi
find . -name '*_test.go' -not -path './bin/*' | sort | xargs grep -l '^func Fuzz' | while read -r file; do
	sed -n "s|^func \(Fuzz[A-Za-z0-9_]*\)(.*|$(dirname "$file") \1|p" "$file"
done | xargs -n 2 -P "$(getconf _NPROCESSORS_ONLN)" "$0"
