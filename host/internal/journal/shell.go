package journal

import "context"

// Shell runs commands in one sandbox. Implementations are safe for concurrent use.
type Shell interface {
	// Exec runs a short command and returns what it printed to its standard output, and its exit code.
	// An error means that it isn't known how the command ended.
	Exec(ctx context.Context, command string) (stdout []byte, code int, err error)
	// Stream runs a command until it ends, ctx ends or line fails, and calls line with each line of
	// its standard output as it comes, without its end. A command that nobody reads any more is ended
	// in the sandbox. It returns line's error as it is.
	Stream(ctx context.Context, command string, line func([]byte) error) error
	// CanStream says whether lines come one by one and whether ending a command ends its children.
	CanStream() bool
}

// quote is a word of shell text that stands for s.
func quote(s string) string {
	out := make([]byte, 0, len(s)+2)
	out = append(out, '\'')
	for i := range len(s) {
		if s[i] == '\'' {
			out = append(out, `'\''`...)
		} else {
			out = append(out, s[i])
		}
	}
	return string(append(out, '\''))
}
