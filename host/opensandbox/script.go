package opensandbox

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// MaxInlineCommand is the size in bytes of the longest command that is sent as it is. Linux takes
// 128 KiB in one argument of a program, and a server's shell gets the command as one.
const MaxInlineCommand = 100 << 10

// script is a command that was too long to be passed to a shell and lies in a file instead.
type script struct {
	execd *Execd
	path  string
}

// storeScript uploads a command.
func (e *Execd) storeScript(ctx context.Context, command string) (*script, error) {
	if strings.ContainsRune(command, 0) {
		return nil, fmt.Errorf("%w: the command has a zero byte", ErrInvalid)
	}
	s := &script{execd: e, path: "/tmp/.alineo-command-" + uuid.NewString()}
	// Whoever the command runs as must be able to read it. As an argument, all could have read it too.
	if err := e.Upload(ctx, Upload{Path: s.path, Content: strings.NewReader(command), Mode: DefaultFileMode}); err != nil {
		return nil, err
	}
	return s, nil
}

// command returns what runs the script in the shell that execd starts, as if it had got the script's
// text: same $0, same shell, and signals end the shell itself. The file is gone when it begins,
// unless it runs as a user who may not remove it. A file that can't be read is no empty command.
func (s *script) command() string {
	return fmt.Sprintf(`eval "$(cat %[1]s || echo exit 126; rm -f %[1]s 2>/dev/null)"`, s.path)
}

// remove deletes a script that was never run.
func (s *script) remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), interruptTimeout)
	defer cancel()
	// It may have been run after all, when the answer was lost.
	return s.execd.RemoveFiles(ctx, s.path)
}
