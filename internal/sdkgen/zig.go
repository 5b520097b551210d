package main

import (
	"fmt"
	"slices"
	"strings"
)

// zigName is a field's name, quoted where it is a word of the language.
func zigName(name string) string {
	switch name {
	case "align", "and", "asm", "async", "await", "break", "catch", "const", "continue", "defer", "else", "enum", "error", "export", "extern",
		"fn", "for", "if", "inline", "or", "packed", "pub", "resume", "return", "struct", "suspend", "switch", "test", "try", "type", "union",
		"var", "volatile", "while":
		return `@"` + name + `"`
	}
	return name
}

func zigScalar(f field) (name, zero string) {
	switch f.kind {
	case kindUint32, kindEnum:
		return "u32", "0"
	case kindUint64:
		return "u64", "0"
	case kindInt64, kindSint64:
		return "i64", "0"
	case kindBool:
		return "bool", "false"
	case kindString, kindBytes:
		return "[]const u8", `""`
	case kindValue:
		return "Value", ".null"
	case kindMap:
		return "[]const Pair", "&.{}"
	case kindMessage:
		return f.message, ".{}"
	}
	return "", ""
}

func zigDoc(t *text, indent, doc string) { t.comment(indent+"///", doc) }

// zigKind is how the codec reads and writes a field.
func zigKind(f field) string {
	kinds := map[kind]string{
		kindUint32: "varint", kindEnum: "varint", kindUint64: "varint", kindInt64: "varint", kindSint64: "zigzag", kindBool: "varint",
		kindString: "text", kindBytes: "bytes", kindValue: "value", kindMessage: "message", kindMap: "map",
	}
	return kinds[f.kind]
}

// zigMessages is src/messages.zig.
func zigMessages(s *schema) string {
	var t text
	t.f("// %s\n", generated)
	t.f("//! Messages, operations and columns of the ABI.\n")
	t.f("const wire = @import(\"wire.zig\");")
	t.f("const Value = @import(\"table.zig\").Value;")
	t.f("const Field = wire.Field;")
	t.f("pub const Pair = wire.Pair;")
	for _, e := range s.enums {
		t.f("")
		zigDoc(&t, "", e.doc)
		t.f("pub const %s = struct {", e.name)
		for _, v := range e.values {
			zigDoc(&t, "    ", v.doc)
			t.f("    pub const %s: u32 = %d;", zigName(strings.ToLower(v.name)), v.number)
		}
		t.f("};")
	}
	for _, m := range s.messages {
		zigMessage(&t, m)
	}
	t.f("\n/// Numbers of operations: of a guest below 0x1000, of the host from there on.")
	t.f("pub const Op = struct {")
	for _, o := range slices.Concat(s.guestOps, s.hostOps) {
		t.f("    pub const %s: u32 = 0x%02x;", o.method(), o.number)
	}
	t.f("};")
	for _, set := range s.columns {
		t.f("")
		zigDoc(&t, "", set.doc)
		t.f("pub const %sColumn = struct {", set.name)
		for i, c := range set.columns {
			zigDoc(&t, "    ", c.doc)
			t.f("    pub const %s: usize = %d;", zigName(c.name), i)
		}
		t.f("    /// How many columns there are.")
		t.f("    pub const columns: usize = %d;", len(set.columns))
		t.f("};")
	}
	t.f("\n/// One operation of a guest.")
	t.f("pub const Operation = struct { number: u32, name: []const u8, method: []const u8, Request: type, Reply: type };\n")
	t.f("/// The operations that a plugin may have, by the name of its function.")
	t.f("pub const operations = [_]Operation{")
	for _, o := range s.guestOps {
		if o.request == "" || o.name == "describe" {
			continue
		}
		t.f("    .{ .number = 0x%02x, .name = %q, .method = %q, .Request = %s, .Reply = %s },", o.number, o.name, o.method(), o.request, o.reply)
	}
	t.f("};\n")
	t.f("/// All messages, for tests with the golden vectors.")
	t.f("pub const all = .{")
	for _, m := range s.messages {
		t.f("    .{ %q, %s },", m.name, m.name)
	}
	t.f("};")
	return t.String()
}

func zigMessage(t *text, m message) {
	t.f("")
	zigDoc(t, "", m.doc)
	t.f("pub const %s = struct {", m.name)
	for _, f := range m.fields {
		zigDoc(t, "    ", f.doc)
		scalar, zero := zigScalar(f)
		switch {
		case f.repeated:
			t.f("    %s: []const %s = &.{},", zigName(f.name), scalar)
		case f.optional:
			t.f("    %s: ?%s = null,", zigName(f.name), scalar)
		default:
			t.f("    %s: %s = %s,", zigName(f.name), scalar, zero)
		}
	}
	if len(m.fields) > 0 {
		t.f("")
	}
	var list []string
	for _, f := range m.fields {
		list = append(list, fmt.Sprintf("        .{ .name = %q, .number = %d, .kind = .%s },", f.name, f.number, zigKind(f)))
	}
	if len(list) == 0 {
		t.f("    pub const fields = [_]Field{};")
	} else {
		t.f("    pub const fields = [_]Field{\n%s\n    };", strings.Join(list, "\n"))
	}
	t.f("};")
}
