package config

import (
	"reflect"
	"strings"

	"github.com/BurntSushi/toml"
)

// anyName stands in Keys for a name that the file chooses.
const anyName = "NAME"

// Keys are all keys that a file may have, as dotted paths in the order of Config, with NAME where
// the file chooses the name and without what lies below a plugin's own config table.
func Keys() []string {
	return appendKeys(nil, "", reflect.TypeFor[Config]())
}

func appendKeys(keys []string, prefix string, t reflect.Type) []string {
	names, fields := structKeys(t)
	for i, name := range names {
		path := prefix + name
		switch ft := fields[i].Type; {
		case ft == reflect.TypeFor[map[string]Secret]():
			keys = append(keys, path)
		case ft.Kind() == reflect.Map && ft.Elem().Kind() == reflect.Struct:
			keys = appendKeys(keys, path+"."+anyName+".", ft.Elem())
		case ft.Kind() == reflect.Struct && ft != reflect.TypeFor[Secret]():
			keys = appendKeys(keys, path+".", ft)
		default:
			keys = append(keys, path)
		}
	}
	return keys
}

// structKeys are the keys of a struct's fields, in their order.
func structKeys(t reflect.Type) (names []string, fields []reflect.StructField) {
	for field := range t.Fields() {
		if tag, ok := field.Tag.Lookup("toml"); ok {
			name, _, _ := strings.Cut(tag, ",")
			names = append(names, name)
			fields = append(fields, field)
		}
	}
	return names, fields
}

func cutLast(key string) (table, name string, found bool) {
	if i := strings.LastIndexByte(key, '.'); i >= 0 {
		return key[:i], key[i+1:], true
	}
	return "", key, false
}

// planned says whether a key is for a later version, and what to do without it. These are known by
// name so that the answer is better than "unknown key".
func planned(path toml.Key) (instead string, ok bool) {
	table := [...]struct{ key, instead string }{
		{"ledger.record", "the whole ledger is recorded, remove the key"},
	}
	for _, later := range table {
		pattern := strings.Split(later.key, ".")
		if len(pattern) != len(path) {
			continue
		}
		same := true
		for i, part := range pattern {
			same = same && (part == path[i] || part == anyName)
		}
		if same {
			return later.instead, true
		}
	}
	return "", false
}
