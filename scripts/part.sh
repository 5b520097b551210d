#!/bin/sh
# Runs one part of a check and says how long it took: part.sh NAME MINUTES COMMAND…
# A part that passes its minutes is stopped, where there is `timeout` to do it.
set -eu
name=$1 minutes=$2
shift 2
echo
echo "== $name (at most $minutes min)"
start=$(date +%s)
code=0
if command -v timeout >/dev/null; then
	timeout --kill-after=30 "${minutes}m" "$@" || code=$?
else
	"$@" || code=$?
fi
took=$(($(date +%s) - start))
case $code in
0) echo "== $name: good, $took s" ;;
124 | 137) echo "== $name: NOT DONE after $minutes min" ;;
*) echo "== $name: FAILED ($code), $took s" ;;
esac
exit $code
