package opjson

import (
	"reflect"
	"strings"
	"unicode"
)

// column is one column of a table.
type column struct {
	name string // in camel case
	doc  string // begins with its kind, where package abi says it
}

// columns are those of a page or batch, nil when nothing is known of it.
func columns(table string) []column {
	if table == "Reclaim" { // a run, and since when it waits
		return append(columnsOf("Run"), column{"since", "i64, since when it waits, Unix milliseconds"})
	}
	return columnsOf(table)
}

// memberName is how a field of package abi is called in JSON: as in the schema, in camel case.
func memberName(field string) string {
	if field == "TTLMS" {
		return "ttlMs"
	}
	runes := []rune(field)
	var b strings.Builder
	for i, r := range runes {
		upper := unicode.IsUpper(r)
		before := i > 0 && unicode.IsUpper(runes[i-1])
		behind := i+1 < len(runes) && !unicode.IsUpper(runes[i+1])
		switch {
		case upper && i > 0 && (!before || behind):
			b.WriteRune(r) // a word begins
		case upper:
			b.WriteRune(unicode.ToLower(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Field is one member of a request, for people.
type Field struct {
	Name string
	Kind string
}

// Fields are the members of the operation's request. Those of messages within it have dotted names.
func (o Operation) Fields() []Field {
	if o.request == nil {
		return nil
	}
	return fields("", reflect.TypeOf(o.request()).Elem())
}

func fields(prefix string, message reflect.Type) []Field {
	var list []Field
	for f := range message.Fields() {
		name := prefix + memberName(f.Name)
		t, mark := f.Type, ""
		if t.Kind() == reflect.Pointer {
			t, mark = t.Elem(), " or absent"
		}
		element := t
		if t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8 {
			element, mark = t.Elem(), ", a list"
		}
		if element.Kind() == reflect.Struct {
			if t != element {
				name += "[]"
			}
			list = append(list, fields(name+".", element)...)
			continue
		}
		what, table := handles(message, f.Name)
		list = append(list, Field{Name: name, Kind: kindText(element, what, table) + mark})
	}
	return list
}

// kindText says what a member's value is.
func kindText(t reflect.Type, what handle, table string) string {
	switch what {
	case batchHandle:
		names := make([]string, 0, len(columns(table)))
		for _, c := range columns(table) {
			names = append(names, c.name)
		}
		return "rows of " + strings.Join(names, ", ")
	case secretHandle:
		return "the secret's text"
	case endpointHandle:
		return "a base URL; without it a sidecar is made for the call"
	case pageHandle, noHandle:
	}
	if list := words(t); list != nil {
		return strings.Join(list, ", ")
	}
	switch t.Kind() { //nolint:exhaustive // these are all that messages have
	case reflect.String:
		return "text"
	case reflect.Slice:
		return "bytes in hex"
	case reflect.Bool:
		return "true or false"
	case reflect.Map:
		return "texts by name"
	default:
		return "number"
	}
}
