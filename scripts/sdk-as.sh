#!/bin/sh
# Builds an AssemblyScript plugin: sdk-as.sh OUT.wasm SOURCE.ts. It needs node, and the compiler: $ASC, or the
# one that `npm install` put into bin/assemblyscript.
set -eu
out=$1 source=$2
root=$(cd "$(dirname "$0")/.." && pwd)
asc=${ASC:-$root/bin/assemblyscript/node_modules/assemblyscript/bin/asc.js}
if ! command -v node >/dev/null || ! test -f "$asc"; then
	echo "no AssemblyScript compiler here: install node and npm, then: npm install --prefix $root/bin/assemblyscript assemblyscript@0.28.20" >&2
	exit 3
fi
# The compiler names files from where it runs.
cd "$root"
case $source in "$root"/*) source=${source#"$root"/} ;; esac
node "$asc" "$source" -O2 --runtime minimal --enable bulk-memory --use abort=sdk/assemblyscript/assembly/guest/abort -o "$out"
