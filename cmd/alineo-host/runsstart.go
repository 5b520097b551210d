package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/alineo-labs/alineo-host/host/config"
	"github.com/alineo-labs/alineo-host/host/durable"
	"github.com/alineo-labs/alineo-host/host/sandbox"
)

// runsStartFlags are the flags of runs start.
type runsStartFlags struct {
	run, thread, cwd, image string
	env, setup              []string
	resources               sandbox.Resources
	own, destroy, detach    bool
}

func newRunsStart(a *app) *cobra.Command {
	var f runsStartFlags
	cmd := &cobra.Command{
		Use:   "start [flags] [--] COMMAND [ARG…]",
		Short: "Start a run and show its output",
		Long: `start begins a run and shows its standard output until it ends; the exit code is the command's own.
Ctrl-C leaves the run alone: it goes on, and "runs attach" shows it again. --detach doesn't wait at
all: it prints the run's id as soon as the command has been started.

The run gets the sandbox of its thread, or a new one when there is none yet or when image, resources
or setup are others. A run without --thread is its own thread. Standard error is kept beside the
output; its end is in the message of a run that failed.

The exit code is 125 when the run could not come to its end, 137 when it was canceled or expired, and
130 when Ctrl-C left it.`,
		Example: `  alineo-host runs start --thread chat-7 -- make test
  run=$(alineo-host runs start --detach -- 'for i in 1 2 3; do echo $i; sleep 60; done')
  alineo-host runs start --run job-42 --own-sandbox --image alpine:3.20 --setup 'apk add git' -- git --version`,
		Args: usage(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts, err := f.options(args)
			if err != nil {
				return err
			}
			cfg, err := a.config()
			if err != nil {
				return err
			}
			if f.detach && keptNowhere(cfg) {
				return &exitError{code: exitUsage, err: fmt.Errorf("--detach: with [runs] keep = %q a run ends with its last viewer (%q keeps it)",
					cfg.Runs.Keep, config.KeepSandbox)}
			}
			return hostFailed(a.withRuns(cmd.Context(), func(ctx context.Context, runs *durable.Runs) error {
				return a.startRun(ctx, runs, opts, f.detach, keptNowhere(cfg))
			}))
		},
	}
	cmd.Flags().SetInterspersed(false) // what follows is the command's
	cmd.Flags().StringVar(&f.run, "run", "", "`id` of the run, never used before (default: a random one)")
	cmd.Flags().StringVarP(&f.thread, "thread", "t", "", "`id` of the thread, whose runs share a sandbox (default: the run's own)")
	cmd.Flags().BoolVarP(&f.detach, "detach", "d", false, "print the run's id and don't wait for its end")
	cmd.Flags().StringArrayVarP(&f.env, "env", "e", nil, "set a variable, `NAME=VALUE`; NAME alone passes yours on; stored nowhere; may be repeated")
	cmd.Flags().StringVar(&f.cwd, "cwd", "", "working `directory` in the sandbox")
	cmd.Flags().StringVar(&f.image, "image", "", "image of the sandbox (default: [sandbox] image)")
	cmd.Flags().StringVar(&f.resources.CPU, "cpu", "", "`cpus` that the sandbox may use, such as 2 or 500m (default 1)")
	cmd.Flags().StringVar(&f.resources.Memory, "memory", "", "memory that it may use, such as 512Mi or 4Gi (default 2Gi)")
	cmd.Flags().StringArrayVar(&f.setup, "setup", nil, "`command` that prepares a new sandbox; may be repeated")
	cmd.Flags().BoolVar(&f.own, "own-sandbox", false, "a sandbox for this run alone, which ends with it")
	cmd.Flags().BoolVar(&f.destroy, "destroy", false, "end the sandbox when the run has ended, unless another run uses it")
	return cmd
}

func (f *runsStartFlags) options(args []string) (durable.StartOptions, error) {
	env, err := parseEnv(f.env)
	if err != nil {
		return durable.StartOptions{}, err
	}
	opts := durable.StartOptions{
		RunID: f.run, ThreadID: f.thread, Command: commandLine(args), Cwd: f.cwd, Env: env,
		Spec: durable.Spec{
			Sandbox: sandbox.CreateOptions{Image: f.image, Resources: f.resources}, Setup: f.setup, DestroyOnComplete: f.destroy,
		},
	}
	if f.own {
		opts.Spec.Reuse = durable.ReuseNone
	}
	if opts.RunID == "" {
		opts.RunID = uuid.NewString()
	}
	if opts.ThreadID == "" {
		opts.ThreadID = opts.RunID
	}
	return opts, nil
}

// startRun starts a run and shows it, unless it is to be left alone at once.
func (a *app) startRun(ctx context.Context, runs *durable.Runs, opts durable.StartOptions, detach, ends bool) error {
	// What is started is also seen to its first step when Ctrl-C comes now: a run that was recorded and
	// never began would be of no use.
	run, err := runs.Start(context.WithoutCancel(ctx), opts)
	if errors.Is(err, durable.ErrExists) {
		return fmt.Errorf("%w (%s runs attach %s shows it)", err, a.self(), quote(opts.RunID))
	}
	if err != nil {
		return err
	}
	a.out.progressf("run %s of thread %s", run.ID, run.ThreadID)
	if !detach {
		return a.viewRun(ctx, runs, run.ID, durable.AttachOptions{}, ends)
	}
	if err := a.awaitLaunch(ctx, runs, run.ID); err != nil {
		return err
	}
	if run, err = runs.Get(ctx, run.ID); err != nil {
		return err
	}
	if run.Status.Terminal() && run.Error != nil && run.Error.Code != durable.CodeExit {
		return fmt.Errorf("run %s: %s: %s", run.ID, run.Error.Code, run.Error.Message)
	}
	if a.out.json {
		return a.out.data(run)
	}
	a.out.notef("it goes on (%s runs attach %s)", a.self(), quote(run.ID))
	return a.out.printf("%s\n", run.ID)
}

// awaitLaunch waits until nobody needs this process for the run any more; Ctrl-C ends the run then.
func (a *app) awaitLaunch(ctx context.Context, runs *durable.Runs, id string) error {
	err := runs.AwaitLaunch(ctx, id)
	if err == nil || ctx.Err() == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
	defer cancel()
	a.out.notef("run %s had not begun, and is canceled", id)
	if cancelErr := runs.Cancel(ctx, id); cancelErr != nil && !errors.Is(cancelErr, durable.ErrEnded) {
		return errors.Join(err, cancelErr)
	}
	return errors.Join(err, runs.AwaitRelease(ctx, id))
}
