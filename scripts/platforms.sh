#!/bin/sh
# Vets the module for the platforms that it is for, but for the one it is linted on. Vetting compiles tests too.
set -eu
echo "go vet ./... for darwin/arm64"
GOOS=darwin GOARCH=arm64 go vet ./...
# What speaks to the kernel, and so may differ between processors.
kernel="./host/internal/engine/... ./host/internal/plugin/... ./host/internal/drivers/..."
echo "go vet $kernel for linux/arm64"
GOOS=linux GOARCH=arm64 go vet $kernel
# What guests are made of.
guests=$(GOOS=wasip1 GOARCH=wasm go list ./abi/... ./sdk/go/... ./plugins/...)
echo "go vet for wasip1/wasm:" $guests
GOOS=wasip1 GOARCH=wasm go vet $guests
