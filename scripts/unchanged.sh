#!/bin/sh
# Fails when a built file differs from the committed one, or was never committed.
set -eu
changed=$(git status --porcelain -- '*.wasm' plugins/SHA256SUMS)
if [ -n "$changed" ]; then
	echo "These differ from what is committed. Run make plugins and commit them:"
	echo "$changed"
	exit 1
fi
