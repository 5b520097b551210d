package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/BurntSushi/toml"
)

// Pin returns a file's text with the digest of a plugin's module put in, and everything else, comments
// too, as it was: it replaces sha256 in [plugins.NAME], or adds it behind source. The text must be TOML
// and name the plugin's source. Nothing else is checked: the digest is what is wrong with such a file.
func Pin(text []byte, name, digest string) ([]byte, error) {
	bom := ""
	if rest, ok := bytes.CutPrefix(text, []byte(byteOrderMark)); ok {
		bom, text = byteOrderMark, rest
	}
	before := map[string]any{}
	if err := toml.Unmarshal(text, &before); err != nil {
		return nil, fmt.Errorf("pinning plugin %q: %w", name, err)
	}
	pinned, err := pin(string(text), name, fmt.Sprintf("%q", digest))
	if err != nil {
		return nil, fmt.Errorf("pinning plugin %q: %w", name, err)
	}
	// The scanner is ours and the parser is not: what it makes of the result is what counts.
	after := map[string]any{}
	if err := toml.Unmarshal([]byte(pinned), &after); err != nil {
		return nil, fmt.Errorf("pinning plugin %q: this file can't be edited safely, write the line by hand: sha256 = %q", name, digest)
	}
	if plugins, ok := before["plugins"].(map[string]any); ok {
		if table, ok := plugins[name].(map[string]any); ok {
			table["sha256"] = digest
		}
	}
	if !reflect.DeepEqual(before, after) {
		return nil, fmt.Errorf("pinning plugin %q: this file can't be edited safely, write the line by hand: sha256 = %q", name, digest)
	}
	return []byte(bom + pinned), nil
}

func pin(text, name, literal string) (string, error) {
	at := func(key string) string { return toml.Key{"plugins", name, key}.String() }
	keys := scan(text).keys
	if spot, ok := keys[at("sha256")]; ok {
		_, start, end := valueAt(text, spot)
		return text[:start] + literal + text[end:], nil
	}
	spot, ok := keys[at("source")]
	if !ok {
		return "", errors.New("the file names no source of it, so there is nothing to pin (the digests of bundled plugins are built in)")
	}
	key, _, end := valueAt(text, spot)
	start := offset(text, spot)
	lineStart := strings.LastIndexByte(text[:start], '\n') + 1
	indent := text[lineStart:start]
	if strings.TrimSpace(indent) != "" { // within an inline table
		return text[:end] + ", sha256 = " + literal + text[end:], nil
	}
	key[len(key)-1] = "sha256"
	lineEnd, eol := len(text), "\n"
	if n := strings.IndexByte(text[end:], '\n'); n >= 0 {
		lineEnd = end + n
	}
	if strings.HasSuffix(text[:lineEnd], "\r") {
		lineEnd, eol = lineEnd-1, "\r\n"
	}
	return text[:lineEnd] + eol + indent + key.String() + " = " + literal + text[lineEnd:], nil
}

// valueAt scans the pair whose key stands at a spot.
func valueAt(text string, at spot) (key toml.Key, start, end int) {
	s := &scanner{text: text, at: offset(text, at), line: 1, index: index{keys: map[string]spot{}, statements: map[int]statement{}}}
	key = s.key()
	s.blank(false)
	s.skip('=')
	s.blank(false)
	start = s.at
	s.value(nil, 0)
	return key, start, s.at
}

func offset(text string, at spot) int {
	from := 0
	for range at.line - 1 {
		from += strings.IndexByte(text[from:], '\n') + 1
	}
	return from + at.column - 1
}

// PinFile pins a plugin in a file to its module as it is now, and says whether the file has changed: it is
// replaced at once, never half written. It reads no other setting, so that a file which Load refuses for
// a missing or wrong digest can be mended.
func PinFile(file, name string, opts ...Option) (digest string, changed bool, err error) {
	text, err := readBounded(file)
	if err != nil {
		return "", false, fmt.Errorf("reading configuration: %w", err)
	}
	d, err := newDecoder(file, opts)
	if err != nil {
		return "", false, err
	}
	d.load(strings.TrimPrefix(string(text), byteOrderMark)) // a missing digest is one of its problems
	source := d.cfg.Plugins[name].Source
	switch _, remote := remoteScheme(source); {
	case source == "":
		return "", false, fmt.Errorf("pinning plugin %q: %s has no [plugins.%s] with a source (the digests of bundled plugins are built in)",
			name, file, toml.Key{name})
	case remote:
		return "", false, fmt.Errorf("pinning plugin %q: its source %s is not a file", name, source)
	}
	if digest, err = digestFile(source); err != nil {
		return "", false, fmt.Errorf("pinning plugin %q: reading %s: %w", name, source, err)
	}
	pinned, err := Pin(text, name, digest)
	if err != nil {
		return "", false, fmt.Errorf("%s: %w", file, err)
	}
	if bytes.Equal(pinned, text) {
		return digest, false, nil
	}
	return digest, true, replaceFile(file, pinned)
}

// replaceFile writes a file anew under the same name and mode; what is a link stays one.
func replaceFile(file string, text []byte) (err error) {
	if file, err = filepath.EvalSymlinks(file); err != nil {
		return fmt.Errorf("writing the configuration: %w", err)
	}
	info, err := os.Stat(file)
	if err != nil {
		return fmt.Errorf("writing the configuration: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".*")
	if err != nil {
		return fmt.Errorf("writing the configuration: %w", err)
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(info.Mode().Perm()), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		err = fmt.Errorf("writing the configuration: %w", err)
		if rmErr := os.Remove(f.Name()); rmErr != nil && !errors.Is(rmErr, fs.ErrNotExist) {
			err = errors.Join(err, rmErr)
		}
	}
	return err
}
