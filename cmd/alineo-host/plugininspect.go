package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host"
)

func newPluginInspect(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "inspect NAME|FILE",
		Short: "Show what a plugin is, what it wants, its limits and cost, and how to configure it",
		Long: `inspect loads a plugin that the configuration names, a bundled one, or a module in a file, and shows its
manifest: what it is, and what it wants of the host, with its reasons. Behind that come its digest and
size, what it imports and exports, its limits, and what a call costs. A file need not be pinned and is
granted nothing; it runs only far enough to describe itself.

For a file it ends with the lines that make a plugin of it, to be put at the end of alineo.toml. What
they name (a directory, a secret's file) has to be there.`,
		Example: `  alineo-host plugin inspect sqlite
  alineo-host plugin inspect ./my-ledger.wasm
  alineo-host plugin inspect ./my-ledger.wasm --json | jq -r .paste >>alineo.toml`,
		ValidArgsFunction: a.completePlugin,
		Args:              usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := a.config()
			if err != nil {
				return err
			}
			i, err := host.Inspect(cmd.Context(), cfg, args[0])
			if err != nil {
				return err
			}
			paste := ""
			if i.Source != "" {
				paste = host.PasteLines(cfg, host.PluginPaste{File: i.Source, SHA256: i.Digest, Manifest: i.Manifest})
			}
			if a.out.json {
				return a.out.data(inspected(i, paste))
			}
			if err := a.out.table([]string{"FIELD", "VALUE"}, inspectRows(i)); err != nil || paste == "" || a.out.quiet {
				return err
			}
			return a.out.printf("\nto use it, put this at the end of alineo.toml:\n\n%s", paste)
		},
	}
}

// inspectLine is what --json prints.
type (
	inspectLine struct {
		Name         string        `json:"name"`
		GuestName    string        `json:"guestName"` // in its manifest
		Version      string        `json:"version"`
		Kinds        []string      `json:"kinds"`
		Optional     []string      `json:"optional"` // operations
		State        string        `json:"state"`
		Capabilities []wantLine    `json:"capabilities"`
		ConfigSchema string        `json:"configSchema,omitempty"`
		SHA256       string        `json:"sha256"`
		Bytes        int           `json:"bytes"`
		Metered      meteredLine   `json:"metered"`
		Imports      []string      `json:"imports"`
		Exports      []string      `json:"exports"`
		Limits       limitsLine    `json:"limits"`
		Load         time.Duration `json:"loadNs"`
		Call         time.Duration `json:"callNs,omitempty"`
		MemoryPages  int           `json:"memoryPages"` // of 64 KiB, that it has used
		NotReady     string        `json:"notReady,omitempty"`
		Paste        string        `json:"paste,omitempty"`
	}
	wantLine struct {
		Name     string `json:"name"`
		Resource string `json:"resource"`
		Reason   string `json:"reason"`
		Optional bool   `json:"optional"`
	}
	meteredLine struct {
		Loops     int `json:"loops"`
		Functions int `json:"functions"`
		Bulk      int `json:"bulk"`
	}
	limitsLine struct {
		Memory        int64         `json:"memory"` // bytes
		Deadline      time.Duration `json:"deadlineNs"`
		StartDeadline time.Duration `json:"startDeadlineNs"`
		Instances     int           `json:"instances"`
		MaxRequest    int64         `json:"maxRequest"`  // bytes
		MaxResponse   int64         `json:"maxResponse"` // bytes
		LogLines      int           `json:"logLines"`    // a second
	}
)

func inspected(i host.Inspection, paste string) inspectLine {
	m, l := i.Manifest, i.Limits
	line := inspectLine{
		Name: i.Name, GuestName: m.Name, Version: m.Version, Kinds: orEmpty(m.Kinds), Optional: orEmpty(m.Optional),
		State: stateWord(m.State), Capabilities: []wantLine{}, ConfigSchema: m.ConfigSchema, SHA256: i.Digest, Bytes: i.ModuleBytes,
		Metered: meteredLine{i.Loops, i.Functions, i.Bulk}, Imports: orEmpty(i.Imports), Exports: orEmpty(i.Exports),
		Limits: limitsLine{l.MemoryBytes, l.Deadline, l.StartDeadline, l.Instances, l.MaxRequest, l.MaxResponse, l.LogPerSecond},
		Load:   i.Load, Call: i.Echo, MemoryPages: i.HighPages, Paste: paste,
	}
	if i.Unstated != nil {
		line.NotReady = i.Unstated.Error()
	}
	for _, w := range m.Capabilities {
		line.Capabilities = append(line.Capabilities, wantLine(w))
	}
	return line
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// importNames lists functions by the module that they are of, without their types, which --json has.
func importNames(imports []string) string {
	var text strings.Builder
	last := ""
	seen := map[string]bool{}
	for _, full := range imports {
		full, _, _ = strings.Cut(full, "(")
		module, name, _ := strings.Cut(full, ".")
		switch {
		case seen[full]:
			continue
		case module == last:
			text.WriteString(", ")
		case last != "":
			text.WriteString("; " + module + ": ")
		default:
			text.WriteString(module + ": ")
		}
		text.WriteString(name)
		last, seen[full] = module, true
	}
	return text.String()
}

// instancesText says how many instances there may be.
func instancesText(i host.Inspection) string {
	if i.State != abi.StateNone {
		return "1, for it keeps a state"
	}
	return fmt.Sprintf("%d at most", i.Limits.Instances)
}

func inspectRows(i host.Inspection) [][]string {
	m, l := i.Manifest, i.Limits
	rows := [][]string{
		{"name", m.Name + " " + m.Version},
		{"kinds", orDash(strings.Join(m.Kinds, ", "))},
		{"optional", orDash(strings.Join(m.Optional, ", "))},
		{"state", stateName(m.State)},
	}
	for _, w := range m.Capabilities {
		what := "wants"
		if w.Optional {
			what = "can use"
		}
		rows = append(rows, []string{what, fmt.Sprintf("%s: %s", strings.TrimSpace(w.Name+" "+w.Resource), w.Reason)})
	}
	rows = append(rows, [][]string{
		{"sha256", i.Digest},
		{"size", fmt.Sprintf("%d bytes; %d loops, %d functions and %d bulk operations are metered", i.ModuleBytes, i.Loops, i.Functions, i.Bulk)},
		{"imports", orDash(importNames(i.Imports))},
		{"exports", orDash(strings.Join(i.Exports, "; "))},
		{"memory", fmt.Sprintf("%d bytes allowed an instance (%d pages of 64 KiB); %d pages used", l.MemoryBytes, l.MemoryBytes>>16, i.HighPages)},
		{"deadlines", fmt.Sprintf("%s a call, %s to start", l.Deadline, l.StartDeadline)},
		{"instances", instancesText(i)},
		{"largest request", fmt.Sprintf("%d bytes", l.MaxRequest)},
		{"largest response", fmt.Sprintf("%d bytes", l.MaxResponse)},
		{"log lines", fmt.Sprintf("%d a second", l.LogPerSecond)},
	}...)
	if i.Unstated != nil {
		return append(rows, []string{"not ready", i.Unstated.Error()})
	}
	return append(rows, [][]string{
		{"loaded in", i.Load.Round(10 * time.Microsecond).String()},
		{"a call takes", i.Echo.String()},
		{"fuel", fmt.Sprintf("%d in %d calls", i.Fuel, i.Calls)},
	}...)
}
