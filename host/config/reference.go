package config

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
)

// The two forms of a reference.
const (
	envPrefix  = "env:"
	filePrefix = "file:"
)

func isReference(text string) bool {
	return strings.HasPrefix(text, envPrefix) || strings.HasPrefix(text, filePrefix)
}

// resolve fetches what a reference names. The error never holds what was found there.
func (d *decoder) resolve(reference string) (string, error) {
	if name, ok := strings.CutPrefix(reference, envPrefix); ok {
		value, set := d.env(name)
		switch {
		case name == "":
			return "", errors.New(`"env:" names no variable`)
		case !set:
			return "", fmt.Errorf("%s: the environment has no variable %s", reference, name)
		}
		return value, nil
	}
	path, err := d.resolvePath(strings.TrimPrefix(reference, filePrefix))
	if err != nil {
		return "", fmt.Errorf("%s: %w", reference, err)
	}
	text, err := readBounded(path)
	pathErr, isPath := errors.AsType[*fs.PathError](err)
	switch {
	case isPath:
		return "", fmt.Errorf("%s: %w", reference, pathErr.Err)
	case err != nil:
		return "", fmt.Errorf("%s: %w", reference, err)
	case !utf8.Valid(text):
		return "", fmt.Errorf("%s: not text (invalid UTF-8)", reference)
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r"), nil
}

// resolvePath makes a path absolute: ~/ is the home directory, a relative one starts at the file.
func (d *decoder) resolvePath(path string) (string, error) {
	switch rest, home := strings.CutPrefix(path, "~"); {
	case path == "":
		return "", errors.New("the path is empty")
	case strings.ContainsRune(path, 0):
		return "", errors.New("a path has no NUL bytes")
	case home && (rest == "" || rest[0] == '/'):
		dir, err := d.home()
		if err != nil {
			return "", err
		}
		return filepath.Join(dir, rest), nil
	case filepath.IsAbs(path):
		return filepath.Clean(path), nil
	}
	return filepath.Join(d.cfg.dir, path), nil
}

// home is $HOME, or what the user database says where a service is started without it.
func (d *decoder) home() (string, error) {
	if dir, _ := d.env("HOME"); dir != "" {
		return dir, nil
	}
	u, err := user.Current()
	if err != nil || u.HomeDir == "" {
		return "", errors.New("no home directory is known for ~ (set HOME, or write the whole path)")
	}
	return u.HomeDir, nil
}

// free copies a table that only a plugin understands into what JSON can carry, with its references
// resolved.
func (d *decoder) free(path toml.Key, from any) any {
	switch v := from.(type) {
	case map[string]any:
		table := make(map[string]any, len(v))
		for _, key := range sortedKeys(v) {
			table[key] = d.free(append(slices.Clone(path), key), v[key])
		}
		return table
	case []map[string]any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = d.free(path, v[i])
		}
		return list
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = d.free(path, v[i])
		}
		return list
	case string:
		if !isReference(v) {
			return v
		}
		resolved, err := d.resolve(v)
		if err != nil {
			d.problem(path, err.Error())
		}
		d.note(path, v)
		return resolved
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			d.problem(path, fmt.Sprintf("%v is a number that JSON does not have, and plugins get JSON", v))
			return nil
		}
		return v
	case time.Time:
		return timeText(v)
	default:
		return v
	}
}

// timeText writes a date or time as the file has it; the parser marks those without a zone by the
// name of their location.
func timeText(t time.Time) string {
	switch t.Location().String() {
	case "datetime-local":
		return t.Format("2006-01-02T15:04:05.999999999")
	case "date-local":
		return t.Format("2006-01-02")
	case "time-local":
		return t.Format("15:04:05.999999999")
	}
	return t.Format(time.RFC3339Nano)
}
