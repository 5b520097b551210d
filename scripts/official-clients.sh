#!/usr/bin/env bash
# Installs the official OpenSandbox clients into bin/official-clients, for the tests in
# internal/officialclients: exactly what the lock files there say, or nothing where it is there already.
# Needs npm, and Python 3 with pip.
set -euo pipefail
cd "$(dirname "$0")/.."
locks=$PWD/internal/officialclients/testdata
into=$PWD/bin/official-clients

# there NAME FILE…: what these lock files say is installed.
there() {
	local name=$1 file
	shift
	for file; do
		cmp -s "$locks/$name/$file" "$into/$name/$file" || return 1
	done
}

if ! there js package-lock.json; then
	rm -rf "$into/js"
	mkdir -p "$into/js.new"
	cp "$locks/js/package.json" "$locks/js/package-lock.json" "$into/js.new/"
	npm --prefix "$into/js.new" ci --ignore-scripts --no-audit --no-fund
	mv "$into/js.new" "$into/js"
fi
if ! there python requirements.txt; then
	rm -rf "$into/python" "$into/python.new"
	python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps --require-hashes \
		--only-binary :all: --target "$into/python.new" -r "$locks/python/requirements.txt"
	cp "$locks/python/requirements.txt" "$into/python.new/"
	mv "$into/python.new" "$into/python"
fi
echo "official clients: $into"
