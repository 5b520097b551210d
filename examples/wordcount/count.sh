#!/bin/sh
# Prints "count word" for each word of the files, the most frequent first.
set -eu
cat "$@" |
	tr '[:upper:]' '[:lower:]' |
	tr -cs '[:alpha:]' '\n' |
	awk 'NF { n[$1]++ } END { for (w in n) printf "%4d %s\n", n[w], w }' |
	sort -k1,1nr -k2,2
