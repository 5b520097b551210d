package main

import (
	"fmt"
	"runtime"
	"strings"

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
			lines := []string{
				fmt.Sprintf("alineo-host %s (abi %d, %s, %s/%s)", v.Host, v.ABI, v.Go, runtime.GOOS, runtime.GOARCH),
			}
			for _, p := range v.Plugins {
				lines = append(lines, fmt.Sprintf("bundled plugin %s, sha256 %s", p.Name, p.SHA256))
			}
			return a.out.printf("%s\n", strings.Join(lines, "\n"))
		},
	}
}
