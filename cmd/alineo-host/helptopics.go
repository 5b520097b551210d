package main

import "github.com/spf13/cobra"

// newExitCodes is a help topic, not a command: `alineo-host help exit-codes`.
func newExitCodes() *cobra.Command {
	return &cobra.Command{
		Use:   "exit-codes",
		Short: "What the exit codes mean",
		Long: `Exit codes

  0      it worked; for exec, run, resume and shell: so did the command
  1      it failed, and standard error says why; for connect and engine status: it is not there;
         for doctor: something does not work here
  2      the command line or the configuration is wrong, and nothing was done
  3      plugin test: no case could run; plugin call: the plugin can't be loaded
  4      ledger verify: something is not as it was written; ledger export: a part can't be read
  124    the command was killed when --timeout was over
  125    exec, run, resume, shell, env build, runs start and attach: alineo-host itself failed, not
         the command
  130    Ctrl-C, or Ctrl-] q in a shell: the command was ended; with runs start and attach it goes on
  137    a signal ended the command in the sandbox; a run was canceled or expired
  141    nobody reads the output any more
  143    SIGTERM: the command was ended

exec, run, resume, shell, env build, runs start and runs attach otherwise end with the exit code of the
command that they ran. port, metrics --watch and top end with 0 on Ctrl-C, which is how they end.`,
	}
}
