package scaffold

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// recipe says what a folder of a language and kind is made of.
type recipe struct {
	Lang, Kind string
	example    string // the folder that it begins as
	called     string // how the example's manifest calls itself
	into       string // where its files go in the folder
	Main       string // the source that the build script is given
	Wants      string // what the plugin asks the host for
}

func recipes() []recipe {
	const brokers = "internal/sdktest/testdata/brokers/"
	return []recipe{
		{Lang: "go", Kind: "ledger", example: "examples/ledger-memory-go", called: "ledger-memory-go"},
		{Lang: "go", Kind: "broker", example: "examples/broker-static-go", called: "broker-static"},
		{Lang: "rust", Kind: "ledger", example: "examples/ledger-memory-rust", called: "ledger-memory-rust", Main: "src/lib.rs"},
		{Lang: "rust", Kind: "broker", example: brokers + "rust", called: "broker-static", into: "src/", Main: "src/lib.rs"},
		{Lang: "c", Kind: "ledger", example: "examples/ledger-jsonl-c", called: "ledger-jsonl-c", Main: "main.c", Wants: "files"},
		{Lang: "c", Kind: "broker", example: brokers + "c", called: "broker-static", Main: "main.c"},
		{Lang: "as", Kind: "ledger", example: "examples/ledger-memory-as", called: "ledger-memory-as", Main: "ledger.ts"},
		{Lang: "as", Kind: "broker", example: brokers + "assemblyscript", called: "broker-static", Main: "plugin.ts"},
		{Lang: "zig", Kind: "ledger", example: "examples/ledger-memory-zig", called: "ledger-memory-zig", Main: "ledger.zig"},
		{Lang: "zig", Kind: "broker", example: "examples/broker-static-zig", called: "broker-static", Main: "broker.zig"},
	}
}

// language is what is the same for both kinds.
type language struct {
	Title   string
	sources func(file string) bool // which of our files come along
	Script  string                 // what builds, empty for the language's own tool
	Below   string                 // where our files go in the folder
	Ending  string                 // of source files
}

// languages by their name on the command line.
func languages() map[string]language {
	return map[string]language{
		"go": {
			Title: "Go", Below: "alineo-host/", Ending: "go",
			sources: func(file string) bool {
				return path.Ext(file) == ".go" && !strings.HasSuffix(file, "_test.go") && (below(file, "abi") || below(file, "sdk/go"))
			},
		},
		"rust": {Title: "Rust", Script: "sdk-rust.sh", Ending: "rs", sources: func(file string) bool { return below(file, "sdk/rust") }},
		"c":    {Title: "C", Script: "sdk-c.sh", Ending: "c", sources: func(file string) bool { return below(file, "sdk/c") }},
		"as": {
			Title: "AssemblyScript", Script: "sdk-as.sh", Ending: "ts",
			sources: func(file string) bool { return below(file, "sdk/assemblyscript") },
		},
		"zig": {Title: "Zig", Script: "sdk-zig.sh", Ending: "zig", sources: func(file string) bool { return below(file, "sdk/zig") }},
	}
}

func below(file, dir string) bool { return strings.HasPrefix(file, dir+"/") }

// sdk are our files that a plugin of a language is built with.
func sdk(sources fs.FS, l language) ([]string, error) {
	var files []string
	err := fs.WalkDir(sources, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if file == "LICENSE" || file == "abi/ABI.md" || l.Script != "" && file == "scripts/"+l.Script || l.sources(file) {
			files = append(files, file)
		}
		return nil
	})
	return files, err
}

// example are the files of an example that become the plugin's own, by their paths in it.
func example(sources fs.FS, folder string) (fs.FS, []string, error) {
	sub, err := fs.Sub(sources, folder)
	if err != nil {
		return nil, nil, err
	}
	var files []string
	err = fs.WalkDir(sub, ".", func(file string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && !slices.Contains([]string{"README.md", "doc.go", "alineo.toml", "build.sh", "Cargo.toml"}, file) {
			files = append(files, file)
		}
		return err
	})
	return sub, files, err
}
