#!/bin/sh
# Builds every .wat below this directory into the .wasm beside it, with wat2wasm of wabt.
set -eu
cd "$(dirname "$0")"
find . -name '*.wat' | sort | while read -r wat; do
	wat2wasm --debug-names "$wat" -o "${wat%.wat}.wasm"
done
