package config

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
)

// Kind says what a value was taken from.
type Kind string

// Where values come from.
const (
	FromDefault Kind = "default"
	FromFile    Kind = "file"
	FromEnv     Kind = "env"
)

// Origin says where a value came from.
type Origin struct {
	Kind      Kind
	Position  Position // empty for a default
	Reference string   // the env: or file: that it was fetched through, or empty
}

// String is for people: default, alineo.toml:3:1, alineo.toml:3:1 (env:KEY), $OPEN_SANDBOX_URL.
func (o Origin) String() string {
	switch {
	case o.Kind == FromDefault:
		return string(FromDefault)
	case o.Kind == FromFile && o.Reference != "":
		return fmt.Sprintf("%s (%s)", o.Position, o.Reference)
	}
	return o.Position.String()
}

// Origin says where the value of a key came from; a key that nobody set is a default.
func (c *Config) Origin(key string) Origin {
	if origin, ok := c.origins[key]; ok {
		return origin
	}
	return Origin{Kind: FromDefault}
}

// Value is one value in force, fit to be shown: secrets are redacted, and so is whatever a plugin's
// own table fetched through a reference.
type Value struct {
	Key    string
	Value  any // string, bool, int, Size, Duration, []string or what JSON has; nil never
	Origin Origin

	path toml.Key
}

// Values are all values in force, in the order of Config and by name within a table of names.
func (c *Config) Values() []Value {
	return c.appendValues(nil, nil, reflect.ValueOf(c).Elem())
}

func (c *Config) appendValues(values []Value, path toml.Key, v reflect.Value) []Value {
	switch v := v.Interface().(type) {
	case Secret:
		text := ""
		if v.IsSet() {
			text = redacted
		}
		return c.appendValue(values, path, text)
	case map[string]any:
		return c.appendTable(values, path, v)
	case []string:
		return c.appendValue(values, path, append([]string{}, v...)) // JSON's null is no list
	case []Files:
		return c.appendValue(values, path, shownFiles(v))
	}
	switch v.Kind() {
	case reflect.Struct:
		names, fields := structKeys(v.Type())
		for i, name := range names {
			if db, ok := reflect.TypeAssert[SQL](v); ok && name != "driver" && !slices.Contains(driverKeys(db.Driver), name) {
				continue // of the other driver
			}
			values = c.appendValues(values, append(slices.Clip(path), name), v.FieldByIndex(fields[i].Index))
		}
		return values
	case reflect.Map:
		byName := make(map[string]reflect.Value, v.Len())
		for iter := v.MapRange(); iter.Next(); {
			byName[iter.Key().String()] = iter.Value()
		}
		for _, name := range sortedKeys(byName) {
			values = c.appendValues(values, append(slices.Clip(path), name), byName[name])
		}
		return values
	default:
		return c.appendValue(values, path, v.Interface())
	}
}

// appendFree shows a value of a plugin's own table.
func (c *Config) appendFree(values []Value, path toml.Key, value any) []Value {
	table, ok := value.(map[string]any)
	if !ok || len(table) == 0 {
		if c.referred(path.String()) {
			value = redacted // nobody knows which of a plugin's values are secret
		}
		return c.appendValue(values, path, value)
	}
	return c.appendTable(values, path, table)
}

// appendTable shows a table of a plugin's own: what TOML must have first comes first.
func (c *Config) appendTable(values []Value, path toml.Key, table map[string]any) []Value {
	for _, tables := range []bool{false, true} {
		for _, name := range sortedKeys(table) {
			if inner, isTable := table[name].(map[string]any); (isTable && len(inner) > 0) == tables {
				values = c.appendFree(values, append(slices.Clip(path), name), table[name])
			}
		}
	}
	return values
}

// referred says whether a value of a plugin's own table, or a part of it, came through a reference.
func (c *Config) referred(key string) bool {
	for at, origin := range c.origins {
		if origin.Reference != "" && (at == key || strings.HasPrefix(at, key+".")) {
			return true
		}
	}
	return false
}

func (c *Config) appendValue(values []Value, path toml.Key, value any) []Value {
	key := path.String()
	return append(values, Value{Key: key, Value: value, Origin: c.originOf(path), path: path})
}

// originOf is the origin of a key or, in a plugin's own table, of the table.
func (c *Config) originOf(path toml.Key) Origin {
	origin := c.Origin(path.String())
	const own = 4 // plugins.NAME.config.key
	if origin.Kind == FromDefault && len(path) >= own && path[0] == "plugins" && path[2] == "config" {
		return Origin{Kind: FromFile, Position: c.Position(path.String())}
	}
	return origin
}

// WriteText writes the values in force as TOML, each with its origin in a comment.
func (c *Config) WriteText(w io.Writer) error {
	var b strings.Builder
	name := c.file
	if name == "" {
		name = "no file"
	}
	fmt.Fprintf(&b, "# what is in force, from %s\n", name)
	values, table := c.Values(), ""
	var block []Value
	flush := func() {
		if len(block) > 0 {
			fmt.Fprintf(&b, "\n[%s]\n", table)
			writeBlock(&b, block)
		}
		block = block[:0]
	}
	for _, v := range values {
		if in := v.path[:len(v.path)-1].String(); in != table {
			flush()
			table = in
		}
		block = append(block, v)
	}
	flush()
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("writing configuration: %w", err)
	}
	return nil
}

func writeBlock(b *strings.Builder, block []Value) {
	const widest = 44
	lines := make([]string, len(block))
	width := 0
	for i, v := range block {
		lines[i] = v.path[len(v.path)-1:].String() + " = " + tomlText(v.Value)
		if n := utf8.RuneCountInString(lines[i]); n <= widest {
			width = max(width, n)
		}
	}
	for i, v := range block {
		pad := max(0, width-utf8.RuneCountInString(lines[i]))
		fmt.Fprintf(b, "%s%s  # %s\n", lines[i], strings.Repeat(" ", pad), v.Origin)
	}
}

// tomlText writes a value as TOML has it.
func tomlText(value any) string {
	switch v := value.(type) {
	case bool, int, int64:
		return fmt.Sprint(v)
	case []string:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = tomlText(v[i])
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = tomlText(v[i])
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		parts := make([]string, 0, len(v))
		for _, key := range sortedKeys(v) {
			parts = append(parts, toml.Key{key}.String()+" = "+tomlText(v[key]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	// JSON's texts and numbers are TOML's too, once DEL is escaped.
	text, err := json.Marshal(value)
	if err != nil {
		return `""`
	}
	return strings.ReplaceAll(string(text), "\x7f", `\u007f`)
}

// WriteJSON writes the values in force as one JSON object, on one line:
//
//	{"file": "alineo.toml", "values": [{"key": "sandbox.url", "value": "embedded",
//	  "origin": {"kind": "file", "file": "alineo.toml", "line": 3, "column": 1}}, …]}
func (c *Config) WriteJSON(w io.Writer) error {
	type origin struct {
		Kind      Kind   `json:"kind"`
		File      string `json:"file,omitempty"`
		Line      int    `json:"line,omitempty"`
		Column    int    `json:"column,omitempty"`
		Reference string `json:"reference,omitempty"`
	}
	type value struct {
		Key    string `json:"key"`
		Value  any    `json:"value"`
		Origin origin `json:"origin"`
	}
	out := struct {
		File   string  `json:"file,omitempty"`
		Values []value `json:"values"`
	}{File: c.file, Values: []value{}}
	for _, v := range c.Values() {
		o := origin{Kind: v.Origin.Kind, Line: v.Origin.Position.Line, Column: v.Origin.Position.Column, Reference: v.Origin.Reference}
		if v.Origin.Kind == FromFile {
			o.File = v.Origin.Position.File
		}
		out.Values = append(out.Values, value{Key: v.Key, Value: v.Value, Origin: o})
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(out); err != nil {
		return fmt.Errorf("writing configuration: %w", err)
	}
	return nil
}
