#!/bin/sh
# Builds a plugin in Go: go.sh OUT.wasm SOURCE/main.go.
set -eu
out=$1
cd "$(dirname "$2")"
GOFLAGS='' GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -buildvcs=false -trimpath -ldflags="-s -w" -o "$out" .
