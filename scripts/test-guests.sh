#!/bin/sh
# Builds the guests that tests run: testdata/guests/NAME/main.go, and the wrong plugins, into NAME.wasm
# in the same folder (GUEST_BUILD is the command), and each .wat into the .wasm beside it.
set -eu
for main in $(find . -path '*/testdata/guests/*/main.go' | sort) ./plugins/internal/wrong*/main.go; do
	dir=${main%/main.go}
	echo "$dir/${dir##*/}.wasm"
	sh -c "$GUEST_BUILD -o $dir/${dir##*/}.wasm $dir"
done
wats=$(find . -path '*/testdata/*' -name '*.wat' | sort)
if [ -z "$wats" ]; then
	exit 0
fi
if ! command -v wat2wasm >/dev/null; then
	echo "NOT BUILT: the .wat guests of tests (wat2wasm is missing; Debian has it in wabt)"
	test "${CI:-}" != true
	exit
fi
for wat in $wats; do
	wat2wasm --debug-names "$wat" -o "${wat%.wat}.wasm"
done
echo "$(echo "$wats" | wc -l) guests from .wat"
