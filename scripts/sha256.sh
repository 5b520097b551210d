#!/bin/sh
# Prints "DIGEST  FILE" for each file, with whatever the machine has.
set -eu
if command -v sha256sum >/dev/null; then
	sha256sum "$@"
else
	shasum -a 256 "$@"
fi
