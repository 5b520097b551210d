package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/alineo-labs/alineo-host/host"
)

func newVersion(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of the host, of its plugin ABI and of its bundled plugins",
		Example: "  alineo-host version --json",
		Args:    usage(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			v := host.Version()
			if a.out.json {
				return a.out.data(v)
			}
			text := fmt.Sprintf("alineo-host %s (abi %d, %s, %s/%s)\n", v.Host, v.ABI, v.Go, runtime.GOOS, runtime.GOARCH)
			for _, p := range v.Plugins {
				text += fmt.Sprintf("bundled plugin %s, sha256 %s\n", p.Name, p.SHA256)
			}
			return a.out.printf("%s", text)
		},
	}
}
