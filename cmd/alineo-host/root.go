package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/config"
)

// app is what every command shares: the global flags and where it writes.
type app struct {
	program    string // as it was typed
	configFile string
	logLevel   string
	out        *output
}

func newRoot() *cobra.Command {
	a := &app{program: os.Args[0]}
	var asJSON, quiet bool
	root := &cobra.Command{
		Use:   "alineo-host",
		Short: "Run commands in sandboxes, keep every event in a ledger, resume any run from it",
		Long: `alineo-host runs commands in isolated sandboxes, appends every event to a ledger as it
happens, and can resume any run from that ledger. The ledger is a WebAssembly plugin
that alineo.toml names; without a file there is SQLite in ./.alineo/ledger.db and an
embedded sandbox engine.

run makes a sandbox for one command or script. create makes one that stays, for exec, shell, cp,
files and the others; they take the beginning of its id. Every command has --help with examples,
and "help exit-codes" says what the exit codes mean.`,
		Example: `  alineo-host run -- echo hello
  alineo-host run --script examples/wordcount/job.alineo
  id=$(alineo-host create) && alineo-host shell $id
  alineo-host sandboxes list
  alineo-host doctor`,
		Version:       host.Version().Host,
		Args:          subcommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			a.out = newOutput(asJSON, quiet)
			if cmd.Flags().Changed("config") && a.configFile == "" { // such as -c "$UNSET"
				return &exitError{code: exitUsage, err: errors.New("--config is given an empty name; leave it out for $ALINEO_CONFIG or ./alineo.toml")}
			}
			return nil
		},
	}
	root.PersistentFlags().StringVarP(&a.configFile, "config", "c", "", "configuration `file` (default: $ALINEO_CONFIG, else ./alineo.toml when it exists)")
	root.PersistentFlags().StringVar(&a.logLevel, "log-level", "", "trace, debug, info, warn or error (default: [log] level)")
	root.PersistentFlags().BoolVar(&asJSON, "json", false, "print data as JSON, one value a line")
	root.PersistentFlags().BoolVarP(&quiet, "quiet", "q", false, "print only the output itself and errors")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok && (wrong.GetFlag().Name == bearerFlag || wrong.GetFlag().Name == basicFlag) {
			err = fmt.Errorf("--%s stands alone: a value is never an argument, give it on standard input", wrong.GetFlag().Name) // not what was typed
		}
		return &exitError{code: exitUsage, err: fmt.Errorf("%w (see %s --help)", err, cmd.CommandPath())}
	})
	root.AddCommand(
		newRun(a), newCreate(a), newExec(a), newShell(a), newCp(a), newFiles(a), newCheckpoint(a), newResume(a), newFork(a), newRestore(a),
		newConnect(a), newPause(a), newUnpause(a), newPort(a), newMetrics(a), newTop(a), newPolicy(a), newCredentials(a), newEnv(a), newSandboxes(a),
		newRuns(a), newServe(a), newLedger(a), newPlugin(a), newConfig(a), newDoctor(a), newEngine(a), newImage(a), newVersion(a), newCompletion(), newExitCodes(),
	)
	return root
}

// usage makes an argument check that ends with the code for wrong usage and says what is expected.
func usage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return &exitError{code: exitUsage, err: fmt.Errorf("%w\nusage: %s\nexample:\n%s", err, cmd.UseLine(), cmd.Example)}
		}
		return nil
	}
}

// group is a command that only has subcommands.
func group(use, short, example string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Example: example,
		Args: subcommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(commands...)
	return cmd
}

// subcommand refuses what is none.
func subcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2
	hint := "see " + cmd.CommandPath() + " --help"
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = "did you mean " + cmd.CommandPath() + " " + near[0] + "?"
	}
	return &exitError{code: exitUsage, err: fmt.Errorf("%q is not a command of %s (%s)", args[0], cmd.CommandPath(), hint)}
}

// self is the beginning of a command line that people can type to go on here: the program as they
// typed it, with the configuration that they named.
func (a *app) self() string {
	line := quote(a.program)
	if a.configFile != "" && a.configFile != config.Find("") {
		line += " -c " + quote(a.configFile)
	}
	return line
}

// config loads the configuration that the flags name.
func (a *app) config(opts ...config.Option) (*config.Config, error) {
	cfg, err := host.LoadConfig(a.configFile, opts...)
	if err != nil {
		return nil, &exitError{code: exitUsage, err: err}
	}
	switch {
	case a.logLevel != "":
		if hclog.LevelFromString(a.logLevel) == hclog.NoLevel {
			return nil, &exitError{code: exitUsage, err: fmt.Errorf("--log-level %q is not one of trace, debug, info, warn, error, off", a.logLevel)}
		}
		cfg.Log.Level = a.logLevel
	case cfg.Origin("log.level").Kind == config.FromDefault:
		// A command says itself what it does.
		cfg.Log.Level = "warn"
	}
	return cfg, nil
}
