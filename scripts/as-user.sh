#!/usr/bin/env bash
# Runs the tests of packages as an ordinary user: as-user.sh PACKAGE…
#
# Needs root, to become somebody else. The tests are built here and run in a copy of the sources,
# because that user may not read this folder or root's Go caches.
set -euo pipefail
user=alineo-test
if [ "$(id -u)" != 0 ]; then
	echo "NOT RUN: you are an ordinary user, so make test is this"
	exit 0
fi
if ! id "$user" >/dev/null 2>&1; then
	useradd --create-home --shell /bin/sh "$user"
fi
home=$(getent passwd "$user" | cut -d: -f6)
work=$(mktemp -d /tmp/alineo-user-XXXXXX)
trap 'rm -rf "$work"' EXIT
mkdir "$work/src" "$work/bin" "$work/tmp" "$work/events"
git ls-files -z --cached --others --exclude-standard | tar --null -T - --ignore-failed-read -cf - 2>/dev/null | tar -xf - -C "$work/src"

top=$(pwd)
: >"$work/list"
go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}}{{end}}' "$@" >"$work/packages"
while read -r package dir; do
	go test -c -o "$work/bin/${package//\//-}.test" "$package"
	echo "$package ${dir#"$top"/}" >>"$work/list"
done <"$work/packages"
chmod 755 "$work"
chown -R "$user": "$work/src" "$work/tmp"

# Two packages at a time, as go test does it on two cores.
tests() {
	cd "$work/src/$2"
	go tool test2json -t -p "$1" setpriv --reuid "$user" --regid "$user" --init-groups \
		env -i HOME="$home" USER="$user" PATH="$PATH" TMPDIR="$work/tmp" CI="${CI:-}" \
		"$work/bin/${1//\//-}.test" -test.v=test2json -test.timeout=3m </dev/null >"$work/events/${1//\//-}" || true
}
running=0
while read -r package dir; do
	if [ $((running += 1)) -gt 2 ]; then
		wait -n
	fi
	tests "$package" "$dir" &
done <"$work/list"
wait
cat "$work"/events/* | go run ./internal/testrun -
