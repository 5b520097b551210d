package config

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
)

// decoder walks the parsed file beside the Config struct. The TOML package could decode into the
// struct itself, but it stops at the first value of a wrong type.
type decoder struct {
	options
	cfg      *Config
	problems Problems
	bad      map[string]bool // keys that have a problem: no second one is reported below them
	now      map[string]bool // keys that the file has
}

func (d *decoder) problem(path toml.Key, message string) {
	key := path.String()
	d.bad[key] = true
	d.problems = append(d.problems, d.cfg.Problem(key, message))
}

func (d *decoder) problemAt(at spot, key, message string) {
	position := Position{File: d.cfg.file, Line: at.line, Column: at.column}
	d.problems = append(d.problems, Problem{Position: position, Key: key, Message: message})
}

// isBad says whether a problem of this key, or of one around it, is known already.
func (d *decoder) isBad(key string) bool {
	for path := parseKey(key); len(path) > 0; path = path[:len(path)-1] {
		if d.bad[path.String()] {
			return true
		}
	}
	return false
}

func (d *decoder) root(tree map[string]any) {
	d.table(nil, reflect.ValueOf(d.cfg).Elem(), tree)
}

// table decodes a table into a struct.
func (d *decoder) table(path toml.Key, into reflect.Value, from map[string]any) {
	names, fields := structKeys(into.Type())
	for _, key := range sortedKeys(from) {
		at := append(slices.Clone(path), key)
		i := slices.Index(names, key)
		if i < 0 {
			d.unknown(at, names)
			continue
		}
		d.now[at.String()] = true
		d.value(at, into.FieldByIndex(fields[i].Index), from[key])
	}
}

func (d *decoder) unknown(path toml.Key, siblings []string) {
	if why, ok := planned(path); ok {
		d.problem(path, "not in this version yet: "+why)
		return
	}
	key := path[len(path)-1]
	hint := didYouMean(key, siblings)
	if hint == "" {
		for _, known := range Keys() {
			if table, name, _ := cutLast(known); name == key && table != "" {
				hint = fmt.Sprintf(" (it belongs to [%s])", table)
				break
			}
		}
	}
	if hint == "" {
		hint = fmt.Sprintf(" (known here: %s)", strings.Join(siblings, ", "))
	}
	d.problem(path, "unknown key"+hint)
}

// value decodes one value of any kind.
func (d *decoder) value(path toml.Key, into reflect.Value, from any) {
	switch target := into.Addr().Interface().(type) {
	case *map[string]Plugin:
		decodeMap(d, path, target, from, func(name string) Plugin {
			if !validName(name) {
				d.problem(append(slices.Clone(path), name),
					"not a name for a plugin (small letters, digits, - and _, at most 63)")
			}
			return DefaultPlugin(name)
		})
	case *map[string]Secret:
		decodeMap(d, path, target, from, func(name string) Secret {
			if !validName(name) {
				d.problem(append(slices.Clone(path), name),
					"not a name for a secret (small letters, digits, - and _, at most 63)")
			}
			return Secret{}
		})
	case *map[string]SQL:
		decodeMap(d, path, target, from, func(string) SQL { return DefaultSQL() })
	case *map[string]string:
		decodeMap(d, path, target, from, func(string) string { return "" })
	case *[]string:
		d.list(path, target, from)
	case *[]Files:
		d.files(path, target, from)
	case *map[string]any:
		if table, ok := d.wantTable(path, from); ok {
			*target, _ = d.free(path, table).(map[string]any)
			d.note(path, "")
		}
	default:
		if into.Kind() == reflect.Struct && into.Type() != reflect.TypeFor[Secret]() {
			if table, ok := d.wantTable(path, from); ok {
				d.table(path, into, table)
			}
			return
		}
		d.scalar(path, into, from)
	}
}

// list decodes a list of texts, each of which may be a reference.
func (d *decoder) list(path toml.Key, into *[]string, from any) {
	elements, ok := from.([]any)
	if !ok {
		wrong := wrongValue{want: "a list of texts"}
		message := wrong.about(describe(from))
		if text, isText := from.(string); isText && !isReference(text) {
			message += fmt.Sprintf(" (try [%s])", quote(text))
		}
		d.problem(path, message)
		return
	}
	*into = make([]string, len(elements))
	references := ""
	for i, from := range elements {
		text, isText := from.(string)
		if !isText {
			wrong := wrongValue{want: "text, which stands in quotes"}
			d.elementProblem(path, i, wrong.about(describe(from)))
			continue
		}
		if isReference(text) {
			references = strings.TrimPrefix(references+", "+text, ", ")
			resolved, err := d.resolve(text)
			if err != nil {
				d.elementProblem(path, i, err.Error())
				continue
			}
			text = resolved
		}
		(*into)[i] = text
	}
	d.note(path, references)
}

// elementProblem is a problem of a list that is shown at one of its elements.
func (d *decoder) elementProblem(path toml.Key, n int, message string) {
	d.bad[path.String()] = true
	d.problems = append(d.problems, d.cfg.elementProblem(path, n, message))
}

// decodeMap decodes a table whose keys are names.
func decodeMap[V any](d *decoder, path toml.Key, into *map[string]V, from any, start func(name string) V) {
	table, ok := d.wantTable(path, from)
	if !ok {
		return
	}
	*into = make(map[string]V, len(table))
	for _, name := range sortedKeys(table) {
		at := append(slices.Clone(path), name)
		v := start(name)
		d.now[at.String()] = true
		d.value(at, reflect.ValueOf(&v).Elem(), table[name])
		(*into)[name] = v
	}
}

func (d *decoder) wantTable(path toml.Key, from any) (map[string]any, bool) {
	table, ok := from.(map[string]any)
	if !ok {
		d.problem(path, describe(from)+" is not a table")
	}
	return table, ok
}

// note records where a value came from.
func (d *decoder) note(path toml.Key, reference string) {
	key := path.String()
	d.cfg.origins[key] = Origin{Kind: FromFile, Position: d.cfg.Position(key), Reference: reference}
}

// scalar decodes a value that is not a table. A text may be a reference, whatever the key takes.
func (d *decoder) scalar(path toml.Key, into reflect.Value, from any) {
	text, isText := from.(string)
	shown := describe(from)
	if into.Type() == reflect.TypeFor[Secret]() && !isText {
		shown = "what stands here" // a secret is not printed, even one of a wrong type
	}
	reference := ""
	if isText && isReference(text) {
		reference = text
		shown = "the value of " + text
		resolved, err := d.resolve(text)
		if err != nil && granted(path) {
			resolved, err = "", nil // whoever is granted it, and only he, learns why
		}
		if err != nil {
			d.problem(path, err.Error())
			return
		}
		text = resolved
	}
	d.note(path, reference)
	if wrong := assign(into, from, text, isText, reference != ""); wrong != nil {
		d.problem(path, wrong.about(shown))
	}
}

// granted tells the key of a secret that plugins are granted, which is read when one asks for it.
func granted(path toml.Key) bool { return len(path) == 2 && path[0] == "secrets" }

// assign sets a field from a TOML value, or from a text that a reference yielded.
func assign(into reflect.Value, from any, text string, isText, referred bool) *wrongValue {
	switch target := into.Addr().Interface().(type) {
	case *Size:
		size, err := ParseSize(numberAsText(from, text, isText))
		*target = size
		return asWrong(err)
	case *Duration:
		duration, err := ParseDuration(numberAsText(from, text, isText))
		*target = duration
		return asWrong(err)
	case *Secret:
		if !isText {
			return &wrongValue{want: "text, which stands in quotes"}
		}
		*target = NewSecret(text)
	case *string:
		if !isText {
			return &wrongValue{want: "text", try: numberAsText(from, text, isText)}
		}
		*target = text
	case *bool:
		b, ok := from.(bool)
		if referred {
			parsed, err := strconv.ParseBool(text)
			b, ok = parsed, err == nil
		}
		if !ok {
			return &wrongValue{want: "true or false, which stand without quotes"}
		}
		*target = b
	case *int:
		n, ok := from.(int64)
		if referred {
			parsed, err := strconv.ParseInt(text, 10, 64)
			n, ok = parsed, err == nil
		}
		if !ok || n > math.MaxInt32 || n < math.MinInt32 {
			return &wrongValue{want: "a whole number"}
		}
		*target = int(n)
	default:
		panic("config: a field of type " + into.Type().String() + " has no decoding")
	}
	return nil
}

// asWrong gives back what ParseSize and ParseDuration say, which is always a wrongValue.
func asWrong(err error) *wrongValue {
	wrong, _ := err.(*wrongValue) //nolint:errorlint // made in this package, never wrapped
	return wrong
}

// numberAsText lets the messages about a bare 64 suggest "64B", as they would for "64".
func numberAsText(from any, text string, isText bool) string {
	if isText {
		return text
	}
	switch from.(type) {
	case int64, float64:
		return fmt.Sprint(from)
	}
	return ""
}

// describe shows a value of the file in a message.
func describe(from any) string {
	switch v := from.(type) {
	case string:
		return quote(v)
	case map[string]any:
		return "a table"
	case []map[string]any:
		return "a list of tables"
	case []any:
		return "a list"
	case bool, int64, float64:
		return fmt.Sprint(v)
	default:
		return "a date or time"
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// validName keeps names of plugins to what needs no quotes in a key, a file or a log line.
func validName(name string) bool {
	const most = 63
	for _, r := range name {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_' {
			return false
		}
	}
	return name != "" && len(name) <= most
}
