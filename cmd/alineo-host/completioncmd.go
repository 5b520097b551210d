package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// newCompletion stands in for cobra's own, which has no examples.
func newCompletion() *cobra.Command {
	shell := func(name, example string, write func(*cobra.Command, io.Writer) error) *cobra.Command {
		return &cobra.Command{
			Use:   name,
			Short: "Print the completion script for " + name,
			Long: fmt.Sprintf(`completion %s prints a script that lets %[1]s complete commands, flags, and the ids of sandboxes
with their names. It asks alineo-host each time, so it needs no renewal.`, name),
			Example: example,
			Args:    usage(cobra.NoArgs),
			RunE: func(cmd *cobra.Command, _ []string) error {
				if err := write(cmd.Root(), cmd.OutOrStdout()); err != nil {
					return fmt.Errorf("printing the completion script: %w", err)
				}
				return nil
			},
		}
	}
	return group("completion", "Print a script by which your shell completes commands and ids",
		"  source <(alineo-host completion bash)\n  alineo-host completion fish | source",
		shell("bash", `  source <(alineo-host completion bash)   # for this shell; wants the package bash-completion
  alineo-host completion bash >~/.local/share/bash-completion/completions/alineo-host`,
			func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, true) }),
		shell("fish", `  alineo-host completion fish | source    # for this shell
  alineo-host completion fish >~/.config/fish/completions/alineo-host.fish`,
			func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) }),
		shell("powershell", `  alineo-host completion powershell | Out-String | Invoke-Expression`,
			func(root *cobra.Command, w io.Writer) error { return root.GenPowerShellCompletionWithDesc(w) }),
		shell("zsh", `  source <(alineo-host completion zsh)    # for this shell, after compinit
  alineo-host completion zsh >"${fpath[1]}/_alineo-host"`,
			func(root *cobra.Command, w io.Writer) error { return root.GenZshCompletion(w) }),
	)
}
