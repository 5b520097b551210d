#!/usr/bin/env bash
# Installs what examples/tanstack-stores-ts is checked with into bin/tanstack-stores: exactly what its lock file
# says, or nothing where that is there already. Needs npm.
set -euo pipefail
cd "$(dirname "$0")/.."
from=$PWD/examples/tanstack-stores-ts
into=$PWD/bin/tanstack-stores

if ! cmp -s "$from/package-lock.json" "$into/package-lock.json"; then
	rm -rf "$into" "$into.new"
	mkdir -p "$into.new"
	cp "$from/package.json" "$from/package-lock.json" "$from/.npmrc" "$into.new/"
	npm --prefix "$into.new" ci --legacy-peer-deps --ignore-scripts --no-audit --no-fund
	mv "$into.new" "$into"
fi
echo "TanStack's packages: $into"
