package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/alineo-labs/alineo-host/cmd/alineo-host/internal/script"
	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/sandbox"
)

// defaultLifetime is how long the server keeps a sandbox of ours that nobody closed, such as after
// kill -9, unless [sandbox] timeout says otherwise.
const defaultLifetime = time.Hour

// runFlags are the flags of run and resume that say how commands are run.
type runFlags struct {
	script   string
	env      []string
	cwd      string
	timeout  time.Duration
	lifetime time.Duration
	keep     bool
}

func (f *runFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.script, "script", "", "run the steps of this `file`: exec, checkpoint, write, read")
	cmd.Flags().StringArrayVarP(&f.env, "env", "e", nil, "set a variable, `NAME=VALUE`; NAME alone passes yours on; may be repeated")
	cmd.Flags().StringVar(&f.cwd, "cwd", "", "working `directory` in the sandbox")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0, "kill a command that takes longer, such as 30s")
	cmd.Flags().DurationVar(&f.lifetime, "lifetime", 0, "how long the server keeps the sandbox at most (default: [sandbox] timeout, else 1h)")
	cmd.Flags().BoolVar(&f.keep, "keep", false, "leave the sandbox running at the end")
}

func newRun(a *app) *cobra.Command {
	var f runFlags
	var create sandbox.CreateOptions
	var bound boundFlags
	cmd := &cobra.Command{
		Use:   "run [flags] [--] COMMAND [ARG…]",
		Short: "Run a command, or the steps of a script, in a new sandbox",
		Long: `run makes a sandbox, runs a command in it and closes it. Every event is in the ledger
before you see it. One argument is a command line of the sandbox's shell; several are a
program and its arguments, passed on as they are. Its standard input is empty; files get
into a sandbox by the write steps of a script.

A script is a file of steps, one a line; # begins a comment:

  write /workspace/words.txt < words.txt   a local file, relative to the script; or <<END
  exec sort /workspace/words.txt           a command line; <<END for several lines
  checkpoint sorted                        keep the sandbox's files: resume goes on here
  read /workspace/words.txt                print a file of the sandbox

The exit code is the command's own; 125 means that alineo-host itself failed, 130 that it
was interrupted: Ctrl-C stops the remote command and closes the sandbox.`,
		Example: `  alineo-host run -- uname -a
  alineo-host run -- 'cat /etc/os-release | head -3'
  alineo-host run --name build --timeout 5m -- make -C /workspace
  alineo-host run --script examples/wordcount/job.alineo`,
		RunE: func(cmd *cobra.Command, args []string) error {
			steps, err := f.check(cmd, args)
			if err != nil {
				return err
			}
			specs, err := bound.parse()
			if err != nil {
				return err
			}
			create.NetworkPolicy, create.CredentialProxy = bound.policy(nil, specs)
			err = a.withHost(cmd.Context(), func(ctx context.Context, h *host.Host) error {
				create.Lifetime = f.life(h)
				values, err := a.resolveBound(ctx, h, specs)
				if err != nil {
					return err
				}
				return a.run(ctx, h, create, &f, steps, args, func(sb *sandbox.Handle) error { return bindAll(ctx, sb, specs, values) })
			})
			return hostFailed(err)
		},
	}
	f.add(cmd)
	bound.add(cmd)
	cmd.Flags().SetInterspersed(false) // what follows the command is the command's
	cmd.Flags().StringVar(&create.Name, "name", "", "name in the ledger (default: sandbox- and the beginning of its id)")
	cmd.Flags().StringVar(&create.Image, "image", "", "image (default: [sandbox] image; \"host\" is this machine's own root)")
	return cmd
}

// check reads the script, or says what is wrong with the flags.
func (f *runFlags) check(cmd *cobra.Command, args []string) (*script.Script, error) {
	wrong := func(format string, args ...any) error {
		return &exitError{code: exitUsage, err: fmt.Errorf(format+"\nexample:\n%s", append(args, cmd.Example)...)}
	}
	switch {
	case f.script != "" && len(args) > 0:
		return nil, wrong("there is a --script and a command %q; give one of them", strings.Join(args, " "))
	case f.timeout < 0 || f.lifetime < 0:
		return nil, wrong("a time can't be negative")
	case f.lifetime > 0 && f.lifetime < time.Minute:
		return nil, wrong("--lifetime %s is too short; servers keep a sandbox for 1m or longer", f.lifetime)
	case f.script == "":
		if len(args) == 0 && cmd.Name() == "run" {
			return nil, wrong("there is neither a command nor a --script")
		}
		return nil, nil
	}
	steps, err := script.Load(f.script)
	if err != nil {
		return nil, &exitError{code: exitUsage, err: err}
	}
	return steps, nil
}

func (f *runFlags) life(h *host.Host) time.Duration {
	switch {
	case f.lifetime > 0:
		return f.lifetime
	case h.Config().Sandbox.Timeout > 0:
		return time.Duration(h.Config().Sandbox.Timeout)
	}
	return defaultLifetime
}

func (a *app) run(
	ctx context.Context, h *host.Host, create sandbox.CreateOptions, f *runFlags, steps *script.Script, args []string, prepare func(*sandbox.Handle) error,
) error {
	r, err := newRunner(a, f)
	if err != nil {
		return err
	}
	boxes, err := a.sandboxes(ctx, h)
	if err != nil {
		return err
	}
	began := time.Now()
	a.out.progressf("creating a sandbox …")
	r.sb, err = boxes.Create(ctx, create)
	if err != nil {
		return err
	}
	a.out.progressf("sandbox %s is ready after %s", r.sb.ID(), time.Since(began).Round(time.Millisecond))
	if err = prepare(r.sb); err == nil {
		if steps == nil {
			err = r.command(ctx, commandLine(args))
		} else {
			err = r.steps(ctx, steps, nil)
		}
	}
	return r.finish(ctx, h, err)
}

// sandboxes returns the client, or says who tells more.
func (a *app) sandboxes(ctx context.Context, h *host.Host) (*sandbox.Client, error) {
	boxes, err := h.Sandboxes(ctx)
	if err != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("%w\n(%s doctor tells what this machine can do)", err, a.self())
	}
	return boxes, err
}

// commandLine makes a command line of arguments: one is taken as it is, several are quoted.
func commandLine(args []string) string {
	if len(args) == 1 {
		return args[0]
	}
	quoted := make([]string, len(args))
	for i, arg := range args {
		quoted[i] = quote(arg)
	}
	return strings.Join(quoted, " ")
}

func quote(arg string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_@%+=:,./-", r)
	}
	if arg != "" && strings.IndexFunc(arg, func(r rune) bool { return !plain(r) }) < 0 {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}

// closeSandbox closes a sandbox also when ctx has ended.
func closeSandbox(ctx context.Context, sb *sandbox.Handle) error {
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
	defer cancel()
	if err := sb.Close(closing); err != nil && !errors.Is(err, sandbox.ErrClosed) {
		return err
	}
	return nil
}
