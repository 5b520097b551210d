package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/alineo-labs/alineo-host/host/sandbox"
)

// anyShell is what shell runs when no command is given: bash edits lines, which sh need not.
const anyShell = "if command -v bash >/dev/null 2>&1; then exec bash -i; else exec /bin/sh -i; fi"

// escapeKey says that the next key is for us, as in telnet: Ctrl-].
const escapeKey = 0x1d

func newShell(a *app) *cobra.Command {
	var env []string
	var attach int64
	var cwd string
	cmd := &cobra.Command{
		Use:   "shell ID [flags] [--] [COMMAND [ARG…]]",
		Short: "Work in a sandbox interactively, on a terminal",
		Long: `shell opens a shell, or another program, on a terminal of a running sandbox and connects yours
with it. Every key goes inside, Ctrl-C too, and a change of the window's size. What is typed and what
is printed is recorded in the ledger: don't type secrets.

Ctrl-] d leaves the program running and prints its number: --attach NUMBER goes on with it, with what
it printed meanwhile first, as far as the sandbox keeps it; exec --list shows what goes on like that.
Ctrl-] q ends the program from outside, when nothing else does. Ctrl-] twice types one.

When its input or its output is no terminal, shell runs the command as exec --stdin does, with what
it reads as the command's input and standard error apart; without a command, what it reads is a
script of the sandbox's shell.

The exit code is the program's own; 125 means that alineo-host itself failed, 130 that Ctrl-] q ended
the session. It is 0 when the program was left running.`,
		Example: `  alineo-host shell 6f1c2d3e
  alineo-host shell --cwd /workspace 6f1c2d3e -- python3
  alineo-host shell --attach 4 6f1c2d3e
  echo 'ls /workspace' | alineo-host shell 6f1c2d3e`,
		ValidArgsFunction: a.completeID,
		Args:              idThenCommand(0),
		RunE: func(cmd *cobra.Command, args []string) error {
			vars, err := parseEnv(env)
			if err != nil {
				return err
			}
			line := ""
			if rest := commandArgs(cmd); len(rest) > 0 {
				line = commandLine(rest)
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGHUP) // the window is closed
			defer stop()
			inside := term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stdout.Fd()))
			switch {
			case attach == 0:
			case attach < 0 || line != "" || cwd != "" || len(env) > 0:
				return &exitError{code: exitUsage, err: errors.New("--attach wants the number of a program that goes on, and nothing else about it")}
			case !inside:
				return &exitError{code: exitUsage, err: errors.New("--attach wants a terminal")}
			}
			err = a.drive(ctx, args[0], sandbox.ConnectOptions{}, func(ctx context.Context, sb *driven) error {
				if inside {
					return sb.interact(ctx, attach, line, cwd, vars)
				}
				opts := sandbox.ExecOptions{Cwd: cwd, Env: vars}
				if line == "" {
					line = sandbox.DefaultShell
				} else if term.IsTerminal(int(os.Stdin.Fd())) {
					return sb.command(ctx, line, opts) // nobody expects to type its input to the end first
				}
				return sb.withInput(ctx, os.Stdin, line, func(line string) error { return sb.command(ctx, line, opts) })
			})
			return hostFailed(err)
		},
	}
	cmd.Flags().SetInterspersed(false) // what follows the id is the command's
	cmd.Flags().StringArrayVarP(&env, "env", "e", nil, "set a variable, `NAME=VALUE`; NAME alone passes yours on; may be repeated")
	cmd.Flags().Int64Var(&attach, "attach", 0, "go on with the program of this `NUMBER` that was left with Ctrl-] d")
	cmd.Flags().StringVar(&cwd, "cwd", "", "working `directory` in the sandbox")
	return cmd
}

var (
	errEscaped = errors.New("the session was ended with Ctrl-] q")
	errLeft    = errors.New("the session was left with Ctrl-] d")
)

// interact connects this process's terminal with one of the sandbox: that of the exec attach, or a new
// one when that is 0.
func (d *driven) interact(ctx context.Context, attach int64, line, cwd string, env map[string]string) error {
	if line == "" {
		line = anyShell
	}
	if _, given := env["TERM"]; !given && os.Getenv("TERM") != "" {
		env["TERM"] = os.Getenv("TERM")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	in, out := int(os.Stdin.Fd()), int(os.Stdout.Fd())
	opts := sandbox.TerminalOptions{Cwd: cwd, Env: env, ResultBytes: resultBytes}
	if columns, rows, err := term.GetSize(out); err == nil && columns > 0 && rows > 0 {
		opts.Columns, opts.Rows = columns, rows
	}
	d.a.out.progressf("in sandbox %.8s (Ctrl-] d leaves the session, Ctrl-] q ends it)", d.ID())
	before, err := term.MakeRaw(in)
	if err != nil {
		return fmt.Errorf("setting the terminal up: %w", err)
	}
	restore := sync.OnceValue(func() error { return term.Restore(in, before) })
	defer func() { _ = restore() }() // where it matters, the error was looked at below
	var tty *sandbox.Terminal
	if attach > 0 {
		tty, err = d.AttachTerminal(ctx, attach, opts)
	} else {
		tty, err = d.Interactive(ctx, line, opts)
	}
	if err != nil {
		return err
	}
	stop := followSize(out, tty)
	defer stop()
	go func() {
		// Not Attach: when what is typed can't be recorded any more, the session must not go on.
		err := typeInto(tty, &untilEscape{src: os.Stdin})
		if errors.Is(err, errLeft) {
			err = tty.Detach(ctx)
		}
		if err != nil && !errors.Is(err, sandbox.ErrClosed) {
			cancel(err)
		}
	}()
	if err := tty.Pipe(os.Stdout); err != nil && !errors.Is(err, sandbox.ErrDetached) {
		cancel(err) // nobody sees the program any more, or it has ended with this error
	}
	result, err := tty.Wait()
	if ctx.Err() != nil || errors.Is(err, sandbox.ErrDetached) {
		_, _ = os.Stdout.WriteString("\r\n") // the program did not end its line
	}
	if restoreErr := restore(); restoreErr != nil {
		err = errors.Join(err, fmt.Errorf("restoring the terminal: %w", restoreErr))
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errEscaped):
		return &exitError{code: exitInterrupted, err: errEscaped}
	case cause != nil && !errors.Is(cause, context.Canceled):
		return cause
	case errors.Is(err, sandbox.ErrDetached):
		d.a.out.notef("it goes on (%s shell --attach %d %.8s)", d.a.self(), tty.Seq(), d.ID())
		return nil
	case err != nil:
		return err
	}
	return ended(result, line)
}

// typeInto types what is read; the end of it is Ctrl-D.
func typeInto(tty *sandbox.Terminal, keys io.Reader) error {
	_, err := io.Copy(tty, keys)
	if err == nil {
		_, err = tty.Write([]byte("\x04"))
	}
	if errors.Is(err, sandbox.ErrClosed) {
		return nil // the program has ended
	}
	return err
}

// followSize tells the sandbox's terminal whenever the size of ours changes.
func followSize(fd int, tty *sandbox.Terminal) (stop func()) {
	changes := make(chan os.Signal, 1)
	signal.Notify(changes, syscall.SIGWINCH)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-changes:
				if columns, rows, err := term.GetSize(fd); err == nil && columns > 0 && rows > 0 {
					_ = tty.Resize(columns, rows) // the next change tries again
				}
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(changes)
		close(done)
	}
}

// untilEscape reads keys up to the escape key with d or q behind it.
type untilEscape struct {
	src     io.Reader
	escaped bool // the key before was the escape key
}

func (u *untilEscape) Read(p []byte) (int, error) {
	const room = 2 // a key behind the escape key that is not for us brings it along
	buf := make([]byte, max(len(p)/room, 1))
	for {
		n, err := u.src.Read(buf)
		typed := p[:0]
		for _, key := range buf[:n] {
			switch {
			case !u.escaped && key == escapeKey:
				u.escaped = true
				continue
			case !u.escaped:
			case key == 'd':
				return len(typed), errLeft
			case key == 'q':
				return len(typed), errEscaped
			case key != escapeKey:
				typed = append(typed, escapeKey)
			}
			u.escaped = false
			typed = append(typed, key)
		}
		if len(typed) > 0 || err != nil {
			return len(typed), err
		}
	}
}
