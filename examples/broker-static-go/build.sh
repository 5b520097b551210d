#!/bin/sh
# Builds broker-static.wasm into the folder given, or this one, and prints its digest.
set -eu
cd "$(dirname "$0")"
into=${1:-.}
GOFLAGS='' GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -buildvcs=false -trimpath -ldflags="-s -w" -o "$into/broker-static.wasm" .
sha256sum "$into/broker-static.wasm" 2>/dev/null || shasum -a 256 "$into/broker-static.wasm"
