#!/bin/sh
# Builds a Rust plugin: sdk-rust.sh OUT.wasm SOURCE/lib.rs. It needs a rustc with the target
# wasm32-unknown-unknown and a wasm-ld that fits it.
set -eu
out=$1 source=$2
root=$(cd "$(dirname "$0")/.." && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
for rustc in "${RUSTC:-}" rustc /usr/bin/rustc; do
	test -n "$rustc" || continue
	libs=$("$rustc" --print sysroot 2>/dev/null)/lib/rustlib/wasm32-unknown-unknown/lib || continue
	test -d "$libs" && found=$rustc && break
done
if [ -z "${found:-}" ]; then
	echo "no Rust compiler here has the target wasm32-unknown-unknown: install it (rustup target add wasm32-unknown-unknown; on Debian: apt-get install rustc libstd-rust-dev-wasm32 lld-14)" >&2
	exit 3
fi
# rustup's compiler brings its linker along; Debian's asks for one of its LLVM's age.
linker=
case $("$found" --version) in
"rustc 1.63"*)
	if ! command -v wasm-ld-14 >/dev/null; then
		echo "Debian's Rust compiler has no linker here: install it (apt-get install lld-14)" >&2
		exit 3
	fi
	linker="-C linker=wasm-ld-14"
	;;
esac
build() {
	# shellcheck disable=SC2086 # the linker is two words or none
	"$found" --edition 2021 --target wasm32-unknown-unknown -O -C panic=abort -C strip=symbols -D warnings $linker \
		--remap-path-prefix "$root=." "$@"
}
build --crate-type rlib --crate-name alineo -o "$tmp/libalineo.rlib" "$root/sdk/rust/src/lib.rs"
build --crate-type cdylib --crate-name plugin --extern "alineo=$tmp/libalineo.rlib" -o "$out" "$source"
