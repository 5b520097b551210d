package scaffold

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"

	alineohost "github.com/alineo-labs/alineo-host"
)

//go:embed templates
var templates embed.FS

// Plugin is what is to be made.
type Plugin struct {
	Name string // of the plugin in its manifest, and of the module
	Kind string // one of Kinds
	Lang string // one of Langs
}

// Errors of Make that are the caller's to tell apart.
var (
	ErrInvalid  = errors.New("this can't be made")
	ErrNotEmpty = errors.New("there is something already, and nothing was changed")
)

// Kinds returns what plugins can be.
func Kinds() []string { return []string{"ledger", "broker"} }

// Langs returns the languages that there are SDKs for, by the names that Plugin takes.
func Langs() []string { return []string{"go", "rust", "as", "c", "zig"} }

// Templates returns what can be made, without names.
func Templates() []Plugin {
	var list []Plugin
	for _, r := range recipes() {
		list = append(list, Plugin{Kind: r.Kind, Lang: r.Lang})
	}
	return list
}

// Title is a language's name for people.
func Title(lang string) string { return languages()[lang].Title }

const maxName = 60

// validName says what names may be: they stand in file names, manifests, tables of alineo.toml and the
// package files of five languages.
var validName = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// Make writes a folder with a plugin and returns the files, by their paths below it, in order. A folder that
// is there has to be empty (ErrNotEmpty); what can't be written whole is taken away again. What the plugin
// says that is wrong is ErrInvalid.
func Make(dir string, p Plugin) ([]string, error) {
	files, err := p.files(alineohost.Sources())
	if err != nil {
		return nil, err
	}
	switch there, err := os.ReadDir(dir); {
	case len(there) > 0:
		return nil, fmt.Errorf("making plugin %s in %s: %w", p.Name, dir, ErrNotEmpty)
	case err == nil:
		return write(dir, files, nil)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("making plugin %s: %w", p.Name, err)
	}
	made := dir // the first folder on the way that isn't there
	for parent := filepath.Dir(made); parent != made; parent = filepath.Dir(parent) {
		if _, err := os.Lstat(parent); err == nil {
			break
		}
		made = parent
	}
	return write(dir, files, &made)
}

// file is one that is to be written.
type file struct {
	text []byte
	mode os.FileMode
}

const (
	modeText   = 0o644
	modeScript = 0o755
	modeDir    = 0o755
)

// write writes all files, or none.
func write(dir string, files map[string]file, made *string) ([]string, error) {
	names := slices.Sorted(maps.Keys(files))
	for _, name := range names {
		to := filepath.Join(dir, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(to), modeDir)
		if err == nil {
			err = os.WriteFile(to, files[name].text, files[name].mode)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("writing the plugin's files: %w", err), undo(dir, names, made))
		}
	}
	return names, nil
}

// undo takes away what write made: the folder that it made first, or in one that was there before, and was
// empty, all that is called as something of ours.
func undo(dir string, names []string, made *string) error {
	if made != nil {
		return os.RemoveAll(*made)
	}
	var errs []error
	for _, name := range names {
		top, _, _ := strings.Cut(name, "/")
		errs = append(errs, os.RemoveAll(filepath.Join(dir, top)))
	}
	return errors.Join(errs...)
}

// files are all files of the folder, by their paths with slashes.
func (p Plugin) files(sources fs.FS) (map[string]file, error) {
	r, err := p.recipe()
	if err != nil {
		return nil, err
	}
	l := languages()[p.Lang]
	files := map[string]file{}
	shared, err := sdk(sources, l)
	if err != nil {
		return nil, fmt.Errorf("reading the SDK for %s: %w", l.Title, err)
	}
	for _, name := range shared {
		text, err := fs.ReadFile(sources, name)
		if err != nil {
			return nil, fmt.Errorf("reading the SDK for %s: %w", l.Title, err)
		}
		mode := os.FileMode(modeText)
		if path.Ext(name) == ".sh" {
			mode = modeScript
		}
		if name == "LICENSE" { // it is the SDK's, not the plugin's
			name = path.Join(path.Dir(l.Below+"sdk/x"), name)
		} else {
			name = l.Below + name
		}
		files[name] = file{text, mode}
	}
	own, names, err := example(sources, r.example)
	if err != nil {
		return nil, fmt.Errorf("reading the example %s: %w", r.example, err)
	}
	for _, name := range names {
		text, err := fs.ReadFile(own, name)
		if err != nil {
			return nil, fmt.Errorf("reading the example %s: %w", r.example, err)
		}
		files[r.into+name] = file{p.rename(r, text), modeText}
	}
	return files, p.fill(sources, r, l, files)
}

// upwards is how an example leads to an SDK, which lies below the plugin's own folder.
var upwards = regexp.MustCompile(`(\.\./)+sdk/`)

// rename gives a source of an example the plugin's name.
func (p Plugin) rename(r recipe, text []byte) []byte {
	text = bytes.ReplaceAll(text, []byte(`"`+r.called+`"`), []byte(`"`+p.Name+`"`))
	return upwards.ReplaceAll(text, []byte("./sdk/"))
}

// recipe finds what p is made by.
func (p Plugin) recipe() (recipe, error) {
	switch {
	case !slices.Contains(Kinds(), p.Kind):
		return recipe{}, fmt.Errorf("%w: %q is no kind of plugin (they are: %s)", ErrInvalid, p.Kind, strings.Join(Kinds(), ", "))
	case !slices.Contains(Langs(), p.Lang):
		return recipe{}, fmt.Errorf("%w: there is no template in %q (there are: %s)", ErrInvalid, p.Lang, strings.Join(Langs(), ", "))
	case !validName.MatchString(p.Name) || len(p.Name) > maxName:
		return recipe{}, fmt.Errorf("%w: %q is no name for a plugin: use small letters, digits and single hyphens, a letter first, %d at most, such as my-ledger",
			ErrInvalid, p.Name, maxName)
	}
	at := slices.IndexFunc(recipes(), func(r recipe) bool { return r.Lang == p.Lang && r.Kind == p.Kind })
	if at < 0 {
		return recipe{}, fmt.Errorf("%w: there is no %s in %s", ErrInvalid, p.Kind, Title(p.Lang))
	}
	return recipes()[at], nil
}

// fill adds the files that are written for a plugin: each template that is for its language or for all.
func (p Plugin) fill(sources fs.FS, r recipe, l language, files map[string]file) error {
	version, err := goVersion(sources)
	if err != nil {
		return err
	}
	all, err := template.New("").Option("missingkey=error").ParseFS(templates, "templates/*")
	if err != nil {
		return fmt.Errorf("reading the templates: %w", err)
	}
	data := struct {
		Plugin
		language
		recipe

		Go string
	}{p, l, r, version}
	written := map[string]string{"Makefile": "Makefile", "README.md": "README.md", ".gitignore": "gitignore"}
	switch p.Lang {
	case "go":
		written["go.mod"], written[l.Below+"go.mod"] = "module", "sdk-module"
	case "rust":
		written["Cargo.toml"] = "Cargo.toml"
	}
	for to, from := range written {
		var text bytes.Buffer
		if err := all.ExecuteTemplate(&text, from, data); err != nil {
			return fmt.Errorf("writing %s: %w", to, err)
		}
		files[to] = file{text.Bytes(), modeText}
	}
	return nil
}

// goVersion is the version of Go that our go.mod asks for.
func goVersion(sources fs.FS) (string, error) {
	text, err := fs.ReadFile(sources, "go.mod")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if version, ok := strings.CutPrefix(line, "go "); ok {
			return strings.TrimSpace(version), nil
		}
	}
	return "", errors.New("go.mod has no line of Go's version")
}
