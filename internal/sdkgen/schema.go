package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// schema is all that the SDKs are made of.
type schema struct {
	messages []message
	enums    []enum
	guestOps []operation // of a guest, which the host calls
	hostOps  []operation // of the host, which a guest calls
	columns  []columnSet
}

type message struct {
	name   string
	doc    string
	fields []field
}

// kind is what a field's value is.
type kind int

const (
	kindUint32 kind = iota
	kindUint64
	kindInt64  // two's complement
	kindSint64 // zigzag
	kindBool
	kindEnum
	kindString
	kindBytes
	kindValue // one tagged value in bytes
	kindMessage
	kindMap // of string to string
)

type field struct {
	name     string // in snake case
	number   int
	kind     kind
	message  string // of kindMessage
	repeated bool
	optional bool
	doc      string
}

type enum struct {
	name   string
	doc    string
	values []enumValue
}

type enumValue struct {
	name   string // without the enum's prefix, in upper case
	number int
	doc    string
}

type operation struct {
	number         uint32
	name           string // ledger.open
	request, reply string // names of messages, Empty for none, "" for any bytes
}

// method is the operation's name as a function's, ledger_open.
func (o operation) method() string { return strings.ReplaceAll(o.name, ".", "_") }

// readSchema reads what the SDKs are made of; root is the module's directory.
func readSchema(ctx context.Context, root string) (*schema, error) {
	dir := filepath.Join(root, "abi")
	files, err := filepath.Glob(filepath.Join(dir, "alineo", "v1", "*.proto"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("finding the schema below %s: %d files: %w", dir, len(files), err)
	}
	slices.Sort(files)
	for i := range files {
		if files[i], err = filepath.Rel(dir, files[i]); err != nil {
			return nil, fmt.Errorf("finding the schema: %w", err)
		}
	}
	compiler := protocompile.Compiler{
		Resolver: &protocompile.SourceResolver{ImportPaths: []string{dir}}, SourceInfoMode: protocompile.SourceInfoStandard,
	}
	compiled, err := compiler.Compile(ctx, files...)
	if err != nil {
		return nil, fmt.Errorf("compiling the schema: %w", err)
	}
	s := &schema{}
	if s.columns, err = readColumns(dir); err != nil {
		return nil, err
	}
	for _, file := range compiled {
		for i := range file.Enums().Len() {
			s.enums = append(s.enums, readEnum(file.Enums().Get(i)))
		}
		for i := range file.Messages().Len() {
			m, err := readMessage(file.Messages().Get(i))
			if err != nil {
				return nil, err
			}
			s.messages = append(s.messages, m)
		}
	}
	slices.SortFunc(s.messages, func(a, b message) int { return cmp.Compare(a.name, b.name) })
	slices.SortFunc(s.enums, func(a, b enum) int { return cmp.Compare(a.name, b.name) })
	manual, err := os.ReadFile(filepath.Join(dir, "ABI.md"))
	if err != nil {
		return nil, fmt.Errorf("reading the operations: %w", err)
	}
	if err := s.readOperations(string(manual)); err != nil {
		return nil, err
	}
	return s, nil
}

func docOf(d protoreflect.Descriptor) string {
	at := d.ParentFile().SourceLocations().ByDescriptor(d)
	text := at.LeadingComments
	if text == "" {
		text = at.TrailingComments
	}
	return strings.TrimSpace(strings.ReplaceAll(text, "\n ", "\n"))
}

func readEnum(d protoreflect.EnumDescriptor) enum {
	e := enum{name: string(d.Name()), doc: docOf(d)}
	prefix := strings.ToUpper(snake(e.name)) + "_"
	for i := range d.Values().Len() {
		v := d.Values().Get(i)
		e.values = append(e.values, enumValue{
			name: strings.TrimPrefix(strings.TrimPrefix(string(v.Name()), prefix), "SQL_"), number: int(v.Number()), doc: docOf(v),
		})
	}
	return e
}

func readMessage(d protoreflect.MessageDescriptor) (message, error) {
	m := message{name: string(d.Name()), doc: docOf(d)}
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		out := field{
			name: string(f.Name()), number: int(f.Number()), repeated: f.IsList(), optional: f.HasOptionalKeyword(), doc: docOf(f),
		}
		switch {
		case f.IsMap():
			out.kind = kindMap
		case m.name == "SQLParam" && out.name == "value":
			out.kind = kindValue
		default:
			var ok bool
			if out.kind, ok = scalarKind(f.Kind()); !ok {
				return m, fmt.Errorf("field %s is of kind %s, which the ABI does not use", f.FullName(), f.Kind())
			}
			if out.kind == kindMessage {
				out.message = string(f.Message().Name())
			}
		}
		m.fields = append(m.fields, out)
	}
	slices.SortFunc(m.fields, func(a, b field) int { return cmp.Compare(a.number, b.number) })
	return m, nil
}

func scalarKind(k protoreflect.Kind) (kind, bool) {
	switch k { //nolint:exhaustive // the ABI uses these
	case protoreflect.Uint32Kind:
		return kindUint32, true
	case protoreflect.Uint64Kind:
		return kindUint64, true
	case protoreflect.Int64Kind:
		return kindInt64, true
	case protoreflect.Sint64Kind:
		return kindSint64, true
	case protoreflect.BoolKind:
		return kindBool, true
	case protoreflect.EnumKind:
		return kindEnum, true
	case protoreflect.StringKind:
		return kindString, true
	case protoreflect.BytesKind:
		return kindBytes, true
	case protoreflect.MessageKind:
		return kindMessage, true
	}
	return 0, false
}

// readOperations reads the tables of sections 7 and 8 of the manual.
func (s *schema) readOperations(manual string) error {
	known := map[string]bool{}
	for _, m := range s.messages {
		known[m.name] = true
	}
	const hostOps = 0x1000
	row := regexp.MustCompile("(?m)^\\| `0x([0-9a-f]+)` \\| `([a-z_.]+)` \\| ([A-Za-z ]+) \\| ([A-Za-z ]+) \\|$")
	for _, cells := range row.FindAllStringSubmatch(manual, -1) {
		number, err := strconv.ParseUint(cells[1], 16, 32)
		if err != nil {
			return fmt.Errorf("reading operation %s: %w", cells[2], err)
		}
		op := operation{number: uint32(number), name: cells[2]}
		for i, into := range []*string{&op.request, &op.reply} {
			name := cells[3+i]
			switch {
			case known[name]:
				*into = name
			case strings.HasSuffix(name, "bytes"):
			default:
				return fmt.Errorf("operation %s has %q, which the schema has not", op.name, name)
			}
		}
		if op.number < hostOps {
			s.guestOps = append(s.guestOps, op)
		} else {
			s.hostOps = append(s.hostOps, op)
		}
	}
	if len(s.guestOps) == 0 || len(s.hostOps) == 0 {
		return fmt.Errorf("the manual has %d operations of guests and %d of the host", len(s.guestOps), len(s.hostOps))
	}
	return nil
}

// snake writes a name of CamelCase with underscores; SQLExec is sql_exec.
func snake(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		upper := r >= 'A' && r <= 'Z'
		lowerBefore := i > 0 && (runes[i-1] < 'A' || runes[i-1] > 'Z')
		lowerBehind := i+1 < len(runes) && runes[i+1] >= 'a' && runes[i+1] <= 'z'
		if upper && i > 0 && (lowerBefore || lowerBehind) {
			b.WriteByte('_')
		}
		b.WriteString(strings.ToLower(string(r)))
	}
	return b.String()
}
