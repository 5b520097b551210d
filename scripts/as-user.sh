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
mkdir "$work/src" "$work/bin" "$work/tmp"
git ls-files -z --cached --others --exclude-standard | tar --null -T - --ignore-failed-read -cf - 2>/dev/null | tar -xf - -C "$work/src"

top=$(pwd)
go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}}{{end}}' "$@" >"$work/packages"
packages=()
while read -r package dir; do
	name=${package//\//-}
	go test -c -o "$work/bin/$name.test" "$package"
	echo "$work/src/${dir#"$top"/}" >"$work/bin/$name.dir"
	packages+=("$package")
done <"$work/packages"
chmod 755 "$work"
chown -R "$user": "$work/src" "$work/tmp"

# one PACKAGE PATTERN: the events of a package's tests, but for those that match.
cat >"$work/one" <<END
#!/usr/bin/env bash
set -eu
name=\${1//\\//-}
cd "\$(cat "$work/bin/\$name.dir")"
exec go tool test2json -t -p "\$1" setpriv --reuid "$user" --regid "$user" --init-groups \\
	env -i HOME="$home" USER="$user" PATH="$PATH" TMPDIR="$work/tmp" CI="${CI:-}" \\
	"$work/bin/\$name.test" -test.v=test2json -test.timeout=3m -test.skip="\$2" </dev/null
END
chmod 755 "$work/one"
go run ./internal/testrun -by="$work/one" "${packages[@]}"
