package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/alineo-labs/alineo-host/host"
)

func newPluginBench(a *app) *cobra.Command {
	var f pluginFlags
	var each time.Duration
	cmd := &cobra.Command{
		Use:   "bench NAME|FILE",
		Short: "Measure a plugin: loading, a call, events a second, memory",
		Long: `bench measures a plugin that the configuration names, a bundled one, or a module in a file, alone and on
storage of its own, as "plugin test" makes it, but with commits that survive a power cut:

  load      from bytes to a plugin that is ready, compiled and with machine code from the cache
  a call    of echo, there and back with 256 bytes
  append    events a second that one writer gets into a ledger, in batches of 1, 64 and 512
  read      events a second that come back, in pages of 1000
  put, get  records of instances a second
  memory    the most that one instance had

What a ledger can do depends on the disk below the temporary directory ($TMPDIR), and on what else the machine
does: compare what was measured together.`,
		Example: `  alineo-host plugin bench sqlite
  alineo-host plugin bench ./my-ledger.wasm --time 5s --json
  alineo-host plugin bench ./my-pg-ledger.wasm --grant ledger=env:DATABASE_URL`,
		ValidArgsFunction: a.completePlugin,
		Args:              usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts, directories, err := f.options()
			if err == nil {
				err = temporary(opts, directories)
			}
			if err == nil && each <= 0 {
				err = fmt.Errorf("--time %s: it takes some time to measure", each)
			}
			if err != nil {
				return &exitError{code: exitUsage, err: err}
			}
			cfg, err := a.config()
			if err != nil {
				return err
			}
			opts.Log = a.logLevel != ""
			a.out.progressf("measuring …")
			m, err := host.BenchPlugin(cmd.Context(), cfg, args[0], opts, each)
			if err != nil {
				return notRunnable(err)
			}
			if a.out.json {
				return a.out.data(m)
			}
			return a.out.table([]string{"WHAT", "RESULT"}, measureRows(m))
		},
	}
	f.add(cmd.Flags(), grantHelp)
	cmd.Flags().DurationVar(&each, "time", time.Second, "for how `long` each thing is measured")
	return cmd
}

// measureRows are measures for people.
func measureRows(m host.PluginMeasures) [][]string {
	load := short(m.Cold) + " compiled"
	if m.Warm > 0 {
		load += ", " + short(m.Warm) + " from the cache"
	}
	rows := [][]string{{"load", load}}
	add := func(what, unit string, r host.PluginRate) {
		rows = append(rows, []string{what, fmt.Sprintf("%s %s/s (a call: p50 %s, p99 %s)", thousands(r.PerSecond), unit, short(r.P50), short(r.P99))})
	}
	if m.Call != nil {
		rows = append(rows, []string{"a call", fmt.Sprintf("p50 %s, p99 %s", short(m.Call.P50), short(m.Call.P99))})
	}
	for _, r := range m.Appends {
		add(fmt.Sprintf("append by %d", r.Batch), "events", r)
	}
	if m.Read != nil {
		add("read", "events", *m.Read)
	}
	if m.Put != nil {
		add("put", "records", *m.Put)
	}
	if m.Get != nil {
		add("get", "records", *m.Get)
	}
	return append(rows, []string{"memory", fmt.Sprintf("%s an instance; the module has %s", bytesText(m.Memory), bytesText(int64(m.Bytes)))})
}

// thousands writes a number of things with three digits or so.
func thousands(n float64) string {
	const k, m = 1e3, 1e6
	switch {
	case n >= m:
		return fmt.Sprintf("%.3gM", n/m)
	case n >= k:
		return fmt.Sprintf("%.3gk", n/k)
	}
	return fmt.Sprintf("%.3g", n)
}
