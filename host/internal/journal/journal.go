package journal

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"
)

// Defaults.
const (
	DefaultDir  = "/tmp/alineo-runs"
	DefaultPoll = 250 * time.Millisecond
)

const (
	// tailWindow is how much of a journal's end is looked at for the sentinel, in bytes.
	tailWindow = 4096
	// stderrTail is how much of the standard error's end is read, in bytes.
	stderrTail = 4096
	// nonceExt ends the name of the file that brings the nonce.
	nonceExt = ".key"
)

// ErrShell is a command of the journal's own that failed.
var ErrShell = errors.New("a command on the journal failed")

// Journal is the journal of one run.
type Journal struct {
	shell Shell
	dir   string
	name  string
	nonce Nonce
	poll  time.Duration
	// polling reads without streams although the shell has them.
	polling bool
}

// Option changes how a journal is read.
type Option func(*Journal)

// Polling reads the journal in pieces, with a pause between those that bring nothing.
func Polling(every time.Duration) Option {
	return func(j *Journal) { j.poll, j.polling = every, true }
}

// New names a run's journal. It does no I/O.
func New(shell Shell, dir, runID string, nonce Nonce, opts ...Option) (*Journal, error) {
	name, err := EncodeName(runID)
	if err != nil {
		return nil, err
	}
	j := &Journal{shell: shell, dir: dir, name: name, nonce: nonce, poll: DefaultPoll}
	for _, opt := range opts {
		opt(j)
	}
	return j, nil
}

// Output is the path of the file with the standard output.
func (j *Journal) Output() string { return path.Join(j.dir, j.name+outputExt) }

// Errors is the path of the file with the standard error.
func (j *Journal) Errors() string { return path.Join(j.dir, j.name+errorExt) }

// Key is the path of the file in which the nonce must be put before the command is started.
func (j *Journal) Key() string { return path.Join(j.dir, "."+j.name+nonceExt) }

// Nonce is what is to be put there.
func (j *Journal) Nonce() Nonce { return j.nonce }

// Strategy is "follow" or "poll".
func (j *Journal) Strategy() string {
	if j.polling || !j.shell.CanStream() {
		return "poll"
	}
	return "follow"
}

// Start is the shell text that runs a command with a shell, and journals it. It fails, and runs nothing,
// when the nonce is not in its place. Nothing is in a pipe, so that no reader that dies can stop the
// command; and the command is a child, so that an exit in it doesn't skip the sentinel.
//
// The shell has the journal open before it takes the nonce away, and it goes on only if it was the one who took
// it: so a nonce in its place says that the command has not begun, and whoever takes it keeps it from beginning.
func (j *Journal) Start(command, shell string) string {
	out, key := quote(j.Output()), quote(j.Key())
	var b strings.Builder
	// A variable that is in the environment would stay there, with its new value.
	fmt.Fprintf(&b, "set +a; unset alineo_nonce; mkdir -p %s || exit 1\n", quote(j.dir))
	fmt.Fprintf(&b, "exec </dev/null >>%s 2>>%s || exit 1\n", out, quote(j.Errors()))
	fmt.Fprintf(&b, "alineo_nonce=$(cat %s 2>/dev/null) && rm %s 2>/dev/null && [ -n \"$alineo_nonce\" ] || exit 1\n", key, key)
	fmt.Fprintf(&b, "%s -c %s\nalineo_code=$?\n", quote(shell), quote(command))
	// The sentinel begins a line, also when the command left its last one open.
	fmt.Fprintf(&b, "if [ -s %s ] && [ -n \"$(tail -c 1 %s)\" ]; then echo; fi\n", out, out)
	b.WriteString(`printf '{"__exit":%d,"__nonce":"%s"}\n' "$alineo_code" "$alineo_nonce"` + "\n")
	return b.String()
}

// Pending says whether the nonce is still in its place: the command has not begun.
func (j *Journal) Pending(ctx context.Context) (bool, error) {
	_, code, err := j.shell.Exec(ctx, "test -f "+quote(j.Key()))
	switch {
	case err != nil:
		return false, fmt.Errorf("looking for the command's beginning: %w", err)
	case code > 1:
		return false, fmt.Errorf("looking for the command's beginning: %w: test ended with %d", ErrShell, code)
	}
	return code == 0, nil
}

// Revoke keeps the command from beginning, for ever, and says whether it did: false is a command that has
// begun, or whose nonce was never there and now can't be put there any more. An error means that nobody knows.
func (j *Journal) Revoke(ctx context.Context) (bool, error) {
	// A directory is in the way of a host that was paused before it put the nonce there.
	text := fmt.Sprintf("k=%s; mkdir -p %s; n=; for i in 1 2 3 4 5; do rm \"$k\" 2>/dev/null && n=revoked; mkdir \"$k\" 2>/dev/null; [ -d \"$k\" ] && break; done; [ -d \"$k\" ] && echo \"$n\"",
		quote(j.Key()), quote(j.dir))
	out, code, err := j.shell.Exec(ctx, text)
	switch {
	case err != nil:
		return false, fmt.Errorf("keeping the command from beginning: %w", err)
	case code != 0:
		return false, fmt.Errorf("keeping the command from beginning: %w with %d", ErrShell, code)
	}
	return strings.TrimSpace(string(out)) == "revoked", nil
}

// Exists says whether the journal is there. It does not make it.
func (j *Journal) Exists(ctx context.Context) (bool, error) {
	_, code, err := j.shell.Exec(ctx, "test -f "+quote(j.Output()))
	switch {
	case err != nil:
		return false, fmt.Errorf("looking for the journal: %w", err)
	case code > 1:
		return false, fmt.Errorf("looking for the journal: %w: test ended with %d", ErrShell, code)
	}
	return code == 0, nil
}

// piece reads at most limit bytes from a position on.
func (j *Journal) piece(ctx context.Context, file string, from, limit int64) ([]byte, error) {
	text := fmt.Sprintf("tail -c +%d %s 2>/dev/null | head -c %d | base64", from+1, quote(file), limit)
	return j.decoded(ctx, text)
}

func (j *Journal) tail(ctx context.Context, file string, limit int64) ([]byte, error) {
	return j.decoded(ctx, fmt.Sprintf("tail -c %d %s 2>/dev/null | base64", limit, quote(file)))
}

func (j *Journal) decoded(ctx context.Context, command string) ([]byte, error) {
	out, code, err := j.shell.Exec(ctx, command)
	if err != nil {
		return nil, fmt.Errorf("reading the journal: %w", err)
	}
	if code != 0 {
		return nil, fmt.Errorf("reading the journal: %w with %d", ErrShell, code)
	}
	return unwrap(out)
}

// unwrap decodes base64 that was broken into lines.
func unwrap(text []byte) ([]byte, error) {
	compact := make([]byte, 0, len(text))
	for _, c := range text {
		if c != '\n' && c != '\r' && c != ' ' {
			compact = append(compact, c)
		}
	}
	data := make([]byte, base64.StdEncoding.DecodedLen(len(compact)))
	n, err := base64.StdEncoding.Decode(data, compact)
	if err != nil {
		return nil, fmt.Errorf("reading the journal: %w", err)
	}
	return data[:n], nil
}

// Range returns the journal's bytes of [from, to), fewer where it ends.
func (j *Journal) Range(ctx context.Context, from, to int64) ([]byte, error) {
	return j.piece(ctx, j.Output(), from, to-from)
}

// Stderr returns the end of what the command wrote to its standard error, 4096 bytes at most.
func (j *Journal) Stderr(ctx context.Context) ([]byte, error) {
	return j.tail(ctx, j.Errors(), stderrTail)
}

// Exit is what a journal says about its command.
type Exit struct {
	Finished bool // the sentinel is there
	Code     int
}

// Probe looks for the sentinel at the journal's end. A journal that isn't there has none; an error means
// that nobody knows.
func (j *Journal) Probe(ctx context.Context) (Exit, error) {
	window, err := j.tail(ctx, j.Output(), tailWindow)
	if err != nil {
		return Exit{}, err
	}
	// A window that is not full is the whole file.
	code, ok := LastSentinel(window, len(window) < tailWindow, j.nonce)
	return Exit{Finished: ok, Code: code}, nil
}

// holders is shell text that calls "found" with the id of each process whose standard output or error is
// the journal. It needs /proc.
const holders = `[ -r /proc/self/fd ] || exit 3
for p in /proc/[0-9]*; do
o=$(readlink "$p/fd/1" 2>/dev/null); e=$(readlink "$p/fd/2" 2>/dev/null)
if [ "$o" = "$f" ] || [ "$e" = "$g" ]; then found "${p#/proc/}"; fi
done
`

// Alive says whether a process of the command is still there. An error means that nobody knows.
func (j *Journal) Alive(ctx context.Context) (bool, error) {
	text := fmt.Sprintf("f=%s g=%s\nfound() { echo alive; exit 0; }\n", quote(j.Output()), quote(j.Errors())) + holders
	out, code, err := j.shell.Exec(ctx, text)
	switch {
	case err != nil:
		return false, fmt.Errorf("looking for the command: %w", err)
	case code != 0:
		return false, fmt.Errorf("looking for the command: %w with %d", ErrShell, code)
	}
	return strings.TrimSpace(string(out)) == "alive", nil
}

// Kill ends the command's processes, those that let go of the journal excepted: a request first and, when
// a second has passed, by force.
func (j *Journal) Kill(ctx context.Context) error {
	text := fmt.Sprintf("f=%s g=%s\n", quote(j.Output()), quote(j.Errors())) +
		"all() {\n" + holders + "}\n" +
		// The command's group is ended, too, unless it is this shell's own.
		`group() { s=$(cat "/proc/$1/stat" 2>/dev/null); set -- ${s##*) }; echo "$3"; }
own=$(group $$)
signal() { q=$(group "$2"); kill "-$1" "$2" 2>/dev/null; [ -n "$q" ] && [ "$q" != "$own" ] && [ "$q" -gt 1 ] && kill "-$1" "-$q" 2>/dev/null; }
found() { n=1; signal TERM "$1"; }
n=; all
[ -z "$n" ] && exit 0
found() { n=1; }
for i in 1 2 3 4 5 6 7 8 9 10; do n=; all; [ -z "$n" ] && exit 0; sleep 0.1; done
found() { signal KILL "$1"; }
all
exit 0
`
	if _, code, err := j.shell.Exec(ctx, text); err != nil || code != 0 {
		return errors.Join(fmt.Errorf("ending the command: exit code %d", code), err)
	}
	return nil
}

// Remove deletes the run's files. Those that are not there are a success.
func (j *Journal) Remove(ctx context.Context) error {
	return remove(ctx, j.shell, j.Output(), j.Errors(), j.Key())
}

func remove(ctx context.Context, shell Shell, files ...string) error {
	words := make([]string, len(files))
	for i, file := range files {
		words[i] = quote(file)
	}
	_, code, err := shell.Exec(ctx, "rm -f -- "+strings.Join(words, " "))
	if err != nil {
		return fmt.Errorf("removing journals: %w", err)
	}
	if code != 0 {
		return fmt.Errorf("removing journals: %w: rm ended with %s", ErrShell, strconv.Itoa(code))
	}
	return nil
}
