//go:build unix

package execd

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// A bash session is not one shell that stays: each run is a new bash, which
// takes over what the one before left, so that exit ends a run and not the
// session. The state goes in and out by descriptors of its own, never through
// what the commands print.

// sessionProgram is what a run's bash is given with -c. Descriptor 3 is what
// the last run left, 4 what to run, 5 takes what this run leaves. It is one line, so
// that bash has read it all before it runs anything: set -v shows none of it.
func sessionProgram() string {
	var prefixes strings.Builder
	for c := byte('A'); c <= 'z'; c++ {
		if c <= 'Z' || c == '_' || c >= 'a' {
			fmt.Fprintf(&prefixes, ` "${!%c@}"`, c)
		}
	}
	return `IFS= read -r -d '' -u 3 __execd_state; IFS= read -r -d '' -u 4 __execd_code; exec 3<&- 4<&- {__execd_leave}>&5 5>&-; ` +
		`eval "$__execd_state" 2>/dev/null; unset __execd_state; ` +
		`builtin eval "$__execd_code"; ` +
		`{ __execd_status=$?; builtin set +xvefu; builtin trap - DEBUG ERR RETURN; IFS=' '; ` +
		`builtin printf '%s\0' "$PWD" >&$__execd_leave; builtin shopt -p extglob >&$__execd_leave; ` +
		`for __execd_name in` + prefixes.String() + `; do case $__execd_name in ` +
		`__execd_*|BASH*|EUID|PPID|UID|GROUPS|SHELLOPTS|*RANDOM|SECONDS|EPOCH*|LINENO|FUNCNAME|DIRSTACK|PIPESTATUS|HISTCMD|COMP_*|SHLVL|PWD|_|IFS|OPT*|PS[0-9]|PROMPT_COMMAND) ;; ` +
		`*) builtin declare -p -- "$__execd_name" >&$__execd_leave;; esac; done; ` +
		`builtin declare -f >&$__execd_leave; builtin export -fp >&$__execd_leave; builtin printf '\0' >&$__execd_leave; } >/dev/null 2>&1; ` +
		`builtin exit "$__execd_status"`
}

// left reads what a run has left: the directory, and the commands that
// restore the rest. It is false when the run never came to its end (exit).
func left(f *os.File) (dir string, state []byte, ok bool) {
	st, err := f.Stat()
	if err != nil || st.Size() > maxState {
		return "", nil, false
	}
	b := make([]byte, st.Size())
	if _, err := f.ReadAt(b, 0); err != nil {
		return "", nil, false
	}
	parts := bytes.Split(b, []byte{0})
	if len(parts) != 3 || len(parts[2]) != 0 || len(parts[0]) == 0 {
		return "", nil, false
	}
	return string(parts[0]), parts[1], true
}

// maxState bounds what a session remembers.
const maxState = 64 << 20
