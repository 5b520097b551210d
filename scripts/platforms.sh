#!/bin/sh
# Vets the module for the platforms that it is for. Vetting compiles tests too.
set -eu
export CGO_ENABLED=0
for platform in linux/amd64 linux/arm64 darwin/arm64; do
	echo "go vet ./... for $platform"
	GOOS=${platform%/*} GOARCH=${platform#*/} go vet ./...
done
# What guests are made of.
guests=$(GOOS=wasip1 GOARCH=wasm go list ./abi/... ./sdk/go/... ./plugins/...)
echo "go vet for wasip1/wasm:" $guests
GOOS=wasip1 GOARCH=wasm go vet $guests
