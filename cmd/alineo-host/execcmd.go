package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/alineo-labs/alineo-host/host/sandbox"
)

// execFlags are the flags of exec.
type execFlags struct {
	env        []string
	cwd        string
	timeout    time.Duration
	user       string
	stdin      bool
	background bool
	detach     bool
	follow     int64
	list       bool
}

func newExec(a *app) *cobra.Command {
	var f execFlags
	cmd := &cobra.Command{
		Use:   "exec ID [flags] [--] COMMAND [ARG…]",
		Short: "Run a command in a sandbox that runs already",
		Long: `exec runs a command in a running sandbox of the ledger and passes its output and its exit code on.
It is recorded after what the ledger has of the sandbox: numbers go on, and resume replays it.
One argument is a command line of the sandbox's shell; several are a program and its arguments.

Its standard input is empty. With --stdin, all of exec's own standard input is brought into the
sandbox first, and the command then reads it.

--background runs it apart from the connection: one that is cut is made again, and no output is
lost; standard error comes as standard output. --detach does not wait for it either, and prints its
number: --follow NUMBER shows what it prints from then on and passes its exit code on, --list shows
what goes on like that, and how it ended. Ctrl-C leaves a command alone that is followed; what it
prints is in the ledger as far as somebody followed it, and nothing runs twice.

One process at a time drives a sandbox: exec takes it over, and a run, exec or shell that still
works in it can't record any more and ends. Looking (files, cp, port, metrics, top), pausing, and on the
same machine policy and credentials set, rm and refresh disturb nobody.

The exit code is the command's own; 124 means that --timeout was over, 125 that alineo-host itself
failed, 137 that a signal ended the command. Ctrl-C stops the command, and the sandbox stays.`,
		Example: `  alineo-host exec 6f1c2d3e -- uname -a
  alineo-host exec --cwd /workspace -e DEBUG=1 --timeout 5m 6f1c2d3e -- make test
  tar -c src | alineo-host exec --stdin 6f1c2d3e -- tar -x -C /workspace
  n=$(alineo-host exec --detach 6f1c2d3e -- make all)
  alineo-host exec --list 6f1c2d3e
  alineo-host exec --follow $n 6f1c2d3e`,
		ValidArgsFunction: a.completeID,
		Args:              f.args,
		RunE: func(cmd *cobra.Command, args []string) error {
			opts, err := f.options()
			if err != nil {
				return err
			}
			switch {
			case f.list:
				return hostFailed(a.look(cmd.Context(), args[0], func(ctx context.Context, sb *sandbox.Handle) error {
					return a.listDetached(ctx, sb)
				}))
			case f.follow > 0:
				return hostFailed(a.drive(cmd.Context(), args[0], sandbox.ConnectOptions{}, func(ctx context.Context, sb *driven) error {
					return sb.follow(ctx, f.follow)
				}))
			}
			line := commandLine(commandArgs(cmd))
			err = a.drive(cmd.Context(), args[0], sandbox.ConnectOptions{}, func(ctx context.Context, sb *driven) error {
				if f.user != "" {
					who, err := parseSomeone(f.user)
					if err == nil {
						opts.UID, opts.GID, err = who.resolve(ctx, sb)
					}
					if err != nil {
						return err
					}
				}
				if f.detach {
					return sb.start(ctx, line, opts)
				}
				if f.stdin {
					return sb.withInput(ctx, os.Stdin, line, func(line string) error { return sb.command(ctx, line, opts) })
				}
				return sb.command(ctx, line, opts)
			})
			return hostFailed(err)
		},
	}
	cmd.Flags().SetInterspersed(false) // what follows the id is the command's
	cmd.Flags().StringArrayVarP(&f.env, "env", "e", nil, "set a variable, `NAME=VALUE`; NAME alone passes yours on; may be repeated")
	cmd.Flags().StringVar(&f.cwd, "cwd", "", "working `directory` in the sandbox")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0, "kill the command when it takes longer, such as 30s")
	cmd.Flags().StringVarP(&f.user, "user", "u", "", "run as this `USER[:GROUP]`, names or numbers, where the server allows it")
	cmd.Flags().BoolVarP(&f.stdin, "stdin", "i", false, "give the command exec's standard input")
	cmd.Flags().BoolVar(&f.background, "background", false, "run it apart from the connection, so that none of its output can be lost")
	cmd.Flags().BoolVarP(&f.detach, "detach", "d", false, "start it in the background, print its number and don't wait")
	cmd.Flags().Int64Var(&f.follow, "follow", 0, "follow the command of this `NUMBER` that goes on since --detach")
	cmd.Flags().BoolVar(&f.list, "list", false, "list what goes on since --detach, also of shell")
	return cmd
}

// args checks that there is a command, where one is wanted.
func (f *execFlags) args(cmd *cobra.Command, args []string) error {
	if err := idThenCommand(0)(cmd, args); err != nil {
		return err
	}
	others := f.follow != 0 || f.list
	switch n := len(commandArgs(cmd)); {
	case others && n > 0:
		return &exitError{code: exitUsage, err: errors.New("--follow and --list run no command")}
	case !others && n == 0:
		return idThenCommand(1)(cmd, args)
	}
	return nil
}

func (f *execFlags) options() (sandbox.ExecOptions, error) {
	wrong := func(format string, args ...any) error {
		return &exitError{code: exitUsage, err: fmt.Errorf(format, args...)}
	}
	opts := sandbox.ExecOptions{Cwd: f.cwd, Timeout: f.timeout, Background: f.background || f.detach}
	switch {
	case f.timeout < 0:
		return opts, wrong("--timeout can't be negative")
	case f.detach && f.stdin:
		return opts, wrong("--detach does not go with --stdin: the input is taken away when nobody waits for the command")
	case f.follow < 0:
		return opts, wrong("--follow %d is no number of an exec", f.follow)
	case f.follow > 0 && f.list:
		return opts, wrong("--follow and --list are two things")
	}
	var err error
	if opts.Env, err = parseEnv(f.env); err != nil {
		return opts, err
	}
	if f.user == "" {
		return opts, nil
	}
	if _, err := parseSomeone(f.user); err != nil {
		return opts, wrong("%w", err)
	}
	return opts, nil
}

func parseID(text string) (*uint32, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return nil, err
	}
	id := uint32(n)
	return &id, nil
}

// parseEnv makes variables of --env flags.
func parseEnv(pairs []string) (map[string]string, error) {
	env := make(map[string]string, len(pairs))
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if name == "" {
			return nil, &exitError{code: exitUsage, err: fmt.Errorf("--env %q is not NAME=VALUE", pair)}
		}
		if !ok {
			if value, ok = os.LookupEnv(name); !ok {
				return nil, &exitError{code: exitUsage, err: fmt.Errorf("--env %s: the variable is not set here", name)}
			}
		}
		env[name] = value
	}
	return env, nil
}

// command runs one command line; its exit code becomes the program's.
func (d *driven) command(ctx context.Context, line string, opts sandbox.ExecOptions) error {
	r := &runner{a: d.a, f: &runFlags{}, sb: d.Handle, opts: opts, began: time.Now()}
	return r.command(ctx, line)
}

// withInput runs f with a command line that reads input, which it brings into the sandbox and takes
// away again: a command of the protocol has no input of its own.
func (d *driven) withInput(ctx context.Context, input io.Reader, line string, f func(string) error) error {
	path := "/tmp/.alineo-stdin-" + uuid.NewString()
	const mode = 0o644 // the command may be another user's
	if err := d.Upload(ctx, path, input, mode); err != nil {
		return fmt.Errorf("bringing the input in: %w", err)
	}
	err := f("{ " + line + "\n} < " + path)
	cleaning, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
	defer cancel()
	return errors.Join(err, d.Remove(cleaning, path))
}
