package ledger

// Kind is a way of running something in a sandbox.
type Kind string

// Kinds of exec. An exec whose start is not in the ledger has none.
const (
	KindExec        Kind = "exec"        // a command
	KindCode        Kind = "code"        // code in a language's context
	KindSession     Kind = "session"     // a command in a bash session
	KindInteractive Kind = "interactive" // a program on a terminal
)

// Lines reports whether the output of such an exec arrives line by line without the line ends.
func (k Kind) Lines() bool { return k == KindExec || k == KindSession }

// AppendText appends the text that a frame of output stands for, live or replayed: what the command
// wrote, as far as the wire tells. Frames of commands are lines without their ends, and a frame that
// is a line end stands for an empty line; all other frames stand for themselves. An empty frame is
// nothing. That the last line had no end can't be told.
func (k Kind) AppendText(dst []byte, frame string) []byte {
	switch {
	case frame == "":
		return dst
	case !k.Lines():
		return append(dst, frame...)
	case frame == "\n":
		return append(dst, '\n')
	default:
		dst = append(dst, frame...)
		return append(dst, '\n')
	}
}
