#!/bin/sh
# Builds a C plugin: sdk-c.sh OUT.wasm SOURCE.c, with every other source in its folder. It needs a clang with the target wasm32, and lld. A source
# that wants a libc says so with a line "// libc": then wasi-libc is needed too.
set -eu
out=$1 source=$2
root=$(cd "$(dirname "$0")/.." && pwd)
for clang in "${CLANG:-}" clang clang-19 clang-18 clang-17 clang-16; do
	test -n "$clang" || continue
	if printf 'void f(void) {}' | "$clang" --target=wasm32 -nostdlib -Wl,--no-entry -x c -o /dev/null - 2>/dev/null; then
		found=$clang
		break
	fi
done
if [ -z "${found:-}" ]; then
	echo "no clang here compiles and links for wasm32: install it (on Debian: apt-get install clang-19 lld-19 wasi-libc libclang-rt-19-dev-wasm32)" >&2
	exit 3
fi
target="--target=wasm32 -nostdlib -Wl,--no-entry"
if grep -q '^// libc$' "$source"; then
	target="--target=wasm32-wasi -mexec-model=reactor"
fi
# The stack lies below everything else, so that what grows beyond it traps and overwrites nothing.
# shellcheck disable=SC2086 # the target is several words
"$found" $target -std=c11 -O2 -mbulk-memory -Wall -Wextra -Werror -Wno-unused-parameter \
	-Wl,--strip-all -Wl,--stack-first -Wl,-z,stack-size=262144 -I "$root/sdk/c" \
	-o "$out" "$root"/sdk/c/alineo*.c \
	"$(dirname "$source")"/*.c
