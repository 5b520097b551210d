package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/config"
	"github.com/alineo-labs/alineo-host/internal/scaffold"
)

// newPluginLine is what plugin new prints with --json.
type newPluginLine struct {
	Plugin string   `json:"plugin"`
	Kind   string   `json:"kind"`
	Lang   string   `json:"lang"`
	Dir    string   `json:"dir"`
	Files  []string `json:"files"` // below dir
}

func newPluginNew(a *app) *cobra.Command {
	var p scaffold.Plugin
	var dir string
	cmd := &cobra.Command{
		Use:   "new NAME --lang LANG",
		Short: "Make a folder with a plugin that works, to begin one of your own with",
		Long: `new makes a folder with a plugin that builds and passes its tests: sources, a Makefile, a README
that says what to change next, and the SDK of the language. Nothing else of alineo-host is
needed, and nothing is downloaded.

A ledger stores the events of sandboxes: the one that is made keeps them in memory, or, in C, in
a file. A broker gives credentials to sandboxes: the one that is made takes them from files that
alineo.toml grants.

The languages are Go, Rust, AssemblyScript (as), C and Zig. What a compiler is missing for is
said by make, with what to install. A folder that is there must be empty.`,
		Example: `  alineo-host plugin new my-ledger --lang rust && make -C my-ledger test
  alineo-host plugin new my-broker --kind broker --lang go --dir plugins/my-broker`,
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			p.Name = args[0]
			if dir == "" {
				dir = p.Name
			}
			return a.makePlugin(dir, p)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&p.Kind, "kind", "ledger", "what it is: `"+strings.Join(scaffold.Kinds(), "|")+"`")
	flags.StringVar(&p.Lang, "lang", "", "what it is written in: `"+strings.Join(scaffold.Langs(), "|")+"`")
	flags.StringVar(&dir, "dir", "", "the `folder` to make (default: NAME, here)")
	return cmd
}

func (a *app) makePlugin(dir string, p scaffold.Plugin) error {
	if p.Lang == "" {
		return &exitError{code: exitUsage, err: fmt.Errorf("say what to write it in: --lang %s", strings.Join(scaffold.Langs(), "|"))}
	}
	bundled := func(e host.PluginEntry) bool { return e.Name == p.Name }
	if slices.ContainsFunc(host.ListPlugins(config.Default()), bundled) {
		return &exitError{code: exitUsage, err: fmt.Errorf("%s is a plugin that alineo-host brings along: use another name", p.Name)}
	}
	files, err := scaffold.Make(dir, p)
	if errors.Is(err, scaffold.ErrInvalid) {
		return &exitError{code: exitUsage, err: err}
	}
	if err != nil {
		return err
	}
	if a.out.json {
		return a.out.data(newPluginLine{Plugin: p.Name, Kind: p.Kind, Lang: p.Lang, Dir: dir, Files: files})
	}
	if err := a.out.printf("made %s: a %s in %s, %s\n", dir, p.Kind, scaffold.Title(p.Lang), count(len(files), "file")); err != nil {
		return err
	}
	a.out.notef("next:\n  cd %s && make test    # README.md says the rest", dir)
	return nil
}
