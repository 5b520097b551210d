package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/alineo-labs/alineo-host/host"
)

type pluginCallFlags struct {
	pluginFlags

	input string
	list  bool
}

func newPluginCall(a *app) *cobra.Command {
	f := &pluginCallFlags{}
	cmd := &cobra.Command{
		Use:   "call NAME|FILE OPERATION",
		Short: "Call one operation of a plugin once, and show what was sent and what came back",
		Long: `call loads a plugin that the configuration names, a bundled one, or a module in a file, calls one of its
operations, and shows the request and the reply as JSON. --list says which operations there are, which of
them the plugin has, and the members of their requests.

In the request bytes are hex. Rows that go with it (the entries of ledger.append) are an array of objects,
a member for each column; a column of JSON takes any value. What can be told of them, such as counts, ids and
hashes, may be left out. A secret is its text. A page of rows that comes back is "rows", wherever the
guest left it.

The plugin is granted what it asks for, as in "plugin test": a database or directory is temporary, and gone
after the call, unless --grant names one that stays; what a plugin keeps in memory ends with the call. What the configuration names is never written to.

It exits with 1 when the call ended in an error, the plugin's own or what the host saw (trap, memory,
deadline, protocol …), with 2 when the request is none of the operation, and with 3 when the plugin could
not be loaded.`,
		Example: `  alineo-host plugin call ./my-ledger.wasm --list
  echo '{"key":{"name":"demo","sandboxId":"s-1"}}' | alineo-host plugin call ./my-ledger.wasm ledger.open --input - --grant ledger=./try.db
  alineo-host plugin call ./my-ledger.wasm ledger.append --input append.json --grant ledger=./try.db
  alineo-host plugin call sqlite ledger.stats --grant ledger=./try.db --json

append.json:
  {"segments": [{"sandboxId": "s-1", "name": "demo", "epoch": 1}],
   "entries": [{"event": "exec.output", "step": 0, "payload": {"seq": 1, "text": "hello"}}]}`,
		ValidArgsFunction: a.completePlugin,
		Args: usage(func(cmd *cobra.Command, args []string) error {
			if f.list {
				return cobra.MaximumNArgs(1)(cmd, args)
			}
			return cobra.ExactArgs(2)(cmd, args)
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.list {
				return a.listOperations(cmd.Context(), args)
			}
			return a.callPlugin(cmd.Context(), args[0], args[1], f)
		},
	}
	f.add(cmd.Flags(), "give the plugin a database: `NAME=sqlite` (temporary), NAME=FILE.db, or NAME=DSN of a PostgreSQL server (env:VARIABLE and file:PATH are read); "+
		"a directory: /GUEST=DIR; or the URL of a service that it may send requests to (repeatable)")
	cmd.Flags().StringVar(&f.input, "input", "", "the request: a `file` with a JSON object, or - for standard input (default: an empty object)")
	cmd.Flags().BoolVar(&f.list, "list", false, "list operations and the members of their requests; with a plugin, those that it has")
	return cmd
}

// listOperations lists the operations of guests, or those of one plugin.
func (a *app) listOperations(ctx context.Context, args []string) error {
	list := host.PluginOperations(nil)
	if len(args) == 1 {
		cfg, err := a.config()
		if err != nil {
			return err
		}
		i, err := host.Inspect(ctx, cfg, args[0])
		if err != nil {
			return err
		}
		list = host.PluginOperations(&i.Manifest)
	}
	var rows [][]string
	for _, op := range list {
		if a.out.json {
			if err := a.out.data(op); err != nil {
				return err
			}
			continue
		}
		if op.Has != nil && !*op.Has {
			continue
		}
		members := make([]string, len(op.Members))
		for i, m := range op.Members {
			members[i] = m.Name + " (" + m.Kind + ")"
		}
		rows = append(rows, []string{op.Name, op.Reply, orDash(strings.Join(members, "; "))})
	}
	if a.out.json {
		return nil
	}
	return a.out.table([]string{"OPERATION", "REPLY", "REQUEST"}, rows)
}

// callLine is what --json prints.
type callLine struct {
	host.PluginExchange

	Error *host.PluginFailed `json:"error,omitempty"`
}

// notRunnable gives an error the exit code of what could not be tried.
func notRunnable(err error) error {
	if errors.Is(err, host.ErrPluginNotRunnable) {
		return &exitError{code: exitNotLoaded, err: err}
	}
	return err
}

func (a *app) callPlugin(ctx context.Context, nameOrFile, op string, f *pluginCallFlags) error {
	opts, directories, err := f.options()
	var input []byte
	if err == nil {
		input, err = readInput(f.input)
	}
	if err != nil {
		return &exitError{code: exitUsage, err: err}
	}
	if !slices.ContainsFunc(host.PluginOperations(nil), func(o host.PluginOperation) bool { return o.Name == op }) {
		return &exitError{code: exitUsage, err: fmt.Errorf("%q is no operation of plugins (see %s plugin call --list)", op, a.self())}
	}
	cfg, err := a.config()
	if err != nil {
		return err
	}
	opts.Log = a.logLevel != ""
	var shown error
	x, err := host.CallPlugin(ctx, cfg, nameOrFile, opts, host.PluginCall{
		Op: op, Input: input, Directories: directories,
		Sent: func(sent json.RawMessage) {
			if !a.out.json && !a.out.quiet {
				shown = a.out.printf("→ %s\n%s\n", op, indented(sent))
			}
		},
	})
	if shown != nil {
		return shown
	}
	switch {
	case errors.Is(err, host.ErrPluginRequest):
		return &exitError{code: exitUsage, err: err}
	case errors.Is(err, host.ErrPluginNotRunnable):
		return notRunnable(err)
	}
	failed, isFailure := host.PluginFailure(err)
	if a.out.json && (err == nil || isFailure) {
		line := callLine{PluginExchange: x}
		if isFailure {
			line.Error = &failed
		}
		if err := a.out.data(line); err != nil {
			return err
		}
	}
	switch {
	case isFailure && a.out.json:
		return &exitError{code: exitFailed}
	case isFailure:
		return a.showFailure(failed, x.Took)
	case err != nil || a.out.json:
		return err
	case a.out.quiet:
		return a.out.printf("%s\n", indented(x.Reply))
	}
	return a.out.printf("← in %s\n%s\n", short(x.Took), indented(x.Reply))
}

// showFailure tells how a call ended that had no reply.
func (a *app) showFailure(f host.PluginFailed, took time.Duration) error {
	var text strings.Builder
	if f.Code != "" {
		fmt.Fprintf(&text, "← in %s: the plugin answers with the error %s\n  %s\n", short(took), f.Code, oneLine(f.Message, maxLast))
		for _, key := range slices.Sorted(maps.Keys(f.Details)) {
			fmt.Fprintf(&text, "  %s: %s\n", oneLine(key, maxCell), oneLine(f.Details[key], maxLast))
		}
		if f.Retryable {
			text.WriteString("  the same request may succeed when it is sent again\n")
		}
	} else {
		fmt.Fprintf(&text, "← in %s: no answer (%s)\n  %s\n", short(took), f.Kind, oneLine(f.Message, maxLast))
	}
	if f.Trace != "" {
		text.WriteString("  the guest's stack, innermost first:\n")
		for line := range strings.SplitSeq(f.Trace, "\n") {
			fmt.Fprintf(&text, "    %s\n", oneLine(line, maxLast))
		}
	}
	if err := a.out.printf("%s", text.String()); err != nil {
		return err
	}
	what := f.Code
	if what == "" {
		what = f.Kind
	}
	return &exitError{code: exitFailed, err: fmt.Errorf("the call ended in an error: %s", what)}
}

// indented is JSON for people.
func indented(text json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, text, "", "  ") != nil {
		return string(text)
	}
	return b.String()
}

// maxInput bounds a request that is read, in bytes.
const maxInput = 64 << 20

// readInput reads a file, standard input for "-", or nothing for "".
func readInput(file string) ([]byte, error) {
	if file == "" {
		return nil, nil
	}
	from := io.Reader(os.Stdin)
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, fmt.Errorf("--input: %w", err)
		}
		defer func() { _ = f.Close() }()
		from = f
	}
	text, err := io.ReadAll(io.LimitReader(from, maxInput+1))
	if err != nil {
		return nil, fmt.Errorf("--input: %w", err)
	}
	if len(text) > maxInput {
		return nil, fmt.Errorf("--input: it has more than %s", bytesText(int64(maxInput)))
	}
	return text, nil
}
