package config

import (
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/BurntSushi/toml"
)

// Modes of Files.
const (
	FilesRead      = "r"
	FilesReadWrite = "rw"
)

// files decodes a list of directories: inline tables, or tables of their own in double brackets.
func (d *decoder) files(path toml.Key, into *[]Files, from any) {
	var tables []any
	switch v := from.(type) {
	case []any:
		tables = v
	case []map[string]any:
		for _, table := range v {
			tables = append(tables, table)
		}
	default:
		wrong := wrongValue{want: "a list of tables"}
		d.problem(path, wrong.about(describe(from))+` (such as [{ host = "./data", guest = "/data", mode = "rw" }])`)
		return
	}
	*into = make([]Files, len(tables))
	for i, from := range tables {
		table, ok := from.(map[string]any)
		if !ok {
			d.elementProblem(path, i, describe(from)+` is not a table (such as { host = "./data", guest = "/data", mode = "rw" })`)
			continue
		}
		f := &(*into)[i]
		fields := map[string]*string{"host": &f.Host, "guest": &f.Guest, "mode": &f.Mode}
		for _, key := range sortedKeys(table) {
			field, known := fields[key]
			text, isText := table[key].(string)
			switch {
			case !known:
				d.elementProblem(path, i, fmt.Sprintf("unknown key %s%s", key, orKnown(didYouMean(key, sortedKeys(fields)), sortedKeys(fields))))
			case !isText:
				wrong := wrongValue{want: "text, which stands in quotes"}
				d.elementProblem(path, i, key+": "+wrong.about(describe(table[key])))
			case isReference(text):
				resolved, err := d.resolve(text)
				if err != nil {
					d.elementProblem(path, i, key+": "+err.Error())
				}
				*field = resolved
			default:
				*field = text
			}
		}
	}
	d.note(path, "")
}

func orKnown(hint string, known []string) string {
	if hint != "" {
		return hint
	}
	return fmt.Sprintf(" (known here: %s)", strings.Join(known, ", "))
}

// filesPaths makes the directories' paths absolute.
func (d *decoder) filesPaths(key toml.Key, list []Files) {
	if d.isBad(key.String()) {
		return
	}
	for i := range list {
		if list[i].Host == "" {
			continue // which is told by check
		}
		fixed, err := d.resolvePath(list[i].Host)
		if err != nil {
			d.elementProblem(key, i, "host: "+err.Error())
			return
		}
		list[i].Host = fixed
	}
}

// check says in a sentence what is wrong with a directory, beside those before it; empty: nothing.
func (f *Files) check(before []Files) string {
	switch info, err := os.Stat(f.Host); {
	case f.Host == "":
		return "host is missing: the directory that the plugin may use"
	case err != nil:
		return fmt.Sprintf("host: %s does not exist or can't be looked at (make it: mkdir -p %s)", f.Host, f.Host)
	case !info.IsDir():
		return fmt.Sprintf("host: %s is not a directory", f.Host)
	case !path.IsAbs(f.Guest) || path.Clean(f.Guest) != f.Guest || f.Guest == "/":
		return fmt.Sprintf("guest: %s is not a path such as /data", quote(f.Guest))
	case f.Mode != FilesRead && f.Mode != FilesReadWrite:
		return fmt.Sprintf(`mode: %s is neither "r" nor "rw"`, quote(f.Mode))
	}
	for _, other := range before {
		if other.Guest == f.Guest || strings.HasPrefix(other.Guest, f.Guest+"/") || strings.HasPrefix(f.Guest, other.Guest+"/") {
			return fmt.Sprintf("guest: %s and %s lie in one another", quote(f.Guest), quote(other.Guest))
		}
	}
	return ""
}

// shown is the list as TOML and JSON have it.
func shownFiles(list []Files) []any {
	shown := make([]any, len(list))
	for i, f := range list {
		shown[i] = map[string]any{"host": f.Host, "guest": f.Guest, "mode": f.Mode}
	}
	return shown
}
