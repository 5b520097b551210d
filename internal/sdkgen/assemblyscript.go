package main

import (
	"fmt"
	"slices"
	"strings"
)

// camel writes a name of snake case as TypeScript does.
func camel(name string) string {
	parts := strings.Split(name, "_")
	for i := 1; i < len(parts); i++ {
		parts[i] = strings.ToUpper(parts[i][:1]) + parts[i][1:]
	}
	return strings.Join(parts, "")
}

// asName is a field's name, marked where it is a word of the language.
func asName(name string) string {
	switch name = camel(name); name {
	case "in", "for", "if", "do", "new", "case", "default", "delete", "enum", "export", "function", "import", "return", "switch", "this", "var", "with":
		return name + "_"
	}
	return name
}

func asScalar(f field) (name, zero string) {
	switch f.kind {
	case kindUint32, kindEnum:
		return "u32", "0"
	case kindUint64:
		return "u64", "0"
	case kindInt64, kindSint64:
		return "i64", "0"
	case kindBool:
		return "bool", "false"
	case kindString:
		return "string", `""`
	case kindBytes:
		return "Uint8Array", "new Uint8Array(0)"
	case kindValue:
		return "Value", "Value.null()"
	case kindMap:
		return "Map<string, string>", "new Map<string, string>()"
	case kindMessage:
		return f.message, "new " + f.message + "()"
	}
	return "", ""
}

func asDoc(t *text, indent, doc string) {
	if doc != "" {
		t.f("%s/** %s */", indent, strings.ReplaceAll(doc, "\n", "\n"+indent+" * "))
	}
}

// asMessages is assembly/messages.ts.
func asMessages(s *schema) string {
	var t text
	t.f("// %s\n", generated)
	t.f("import { Message, Reader, Writer } from \"./wire\";")
	t.f("import { Value } from \"./table\";")
	for _, e := range s.enums {
		t.f("")
		asDoc(&t, "", e.doc)
		t.f("export namespace %s {", e.name)
		for _, v := range e.values {
			asDoc(&t, "  ", v.doc)
			t.f("  export const %s: u32 = %d;", v.name, v.number)
		}
		t.f("}")
	}
	for _, m := range s.messages {
		asMessage(&t, m)
	}
	t.f("\n/** Makes a message by its name, for tests with the golden vectors; null is a name that this version has not. */")
	t.f("export function messageNamed(name: string): Message | null {")
	for _, m := range s.messages {
		t.f("  if (name == %q) return new %s();", m.name, m.name)
	}
	t.f("  return null;")
	t.f("}")
	return t.String()
}

func asMessage(t *text, m message) {
	t.f("")
	asDoc(t, "", m.doc)
	t.f("export class %s extends Message {", m.name)
	for _, f := range m.fields {
		asDoc(t, "  ", f.doc)
		scalar, zero := asScalar(f)
		if f.repeated {
			scalar, zero = "Array<"+scalar+">", "[]"
		}
		if f.optional {
			t.f("  %s: bool = false;", camel("has_"+f.name))
		}
		t.f("  %s: %s = %s;", asName(f.name), scalar, zero)
	}
	if len(m.fields) > 0 {
		t.f("")
	}
	t.f("  encode(w: Writer): void {")
	for _, f := range m.fields {
		t.f("    %s", asPut(f))
	}
	t.f("  }\n")
	t.f("  protected field(r: Reader, number: u32, wire: u32): bool {")
	for _, f := range m.fields {
		for _, line := range asRead(f) {
			t.f("    %s", line)
		}
	}
	t.f("    return r.skip(wire);")
	t.f("  }")
	t.f("}")
}

func asPut(f field) string {
	name := "this." + asName(f.name)
	put := func(value string) string {
		switch f.kind {
		case kindInt64:
			return fmt.Sprintf("w.varint(%d, <u64>%s)", f.number, value)
		case kindSint64:
			return fmt.Sprintf("w.zigzag(%d, %s)", f.number, value)
		case kindString:
			return fmt.Sprintf("w.text(%d, %s)", f.number, value)
		case kindBytes:
			return fmt.Sprintf("w.bytes(%d, %s)", f.number, value)
		case kindMessage:
			return fmt.Sprintf("w.message(%d, %s)", f.number, value)
		case kindValue:
			return fmt.Sprintf("w.value(%d, %s)", f.number, value)
		case kindMap:
			return fmt.Sprintf("w.map(%d, %s)", f.number, value)
		case kindUint32, kindUint64, kindBool, kindEnum:
		}
		return fmt.Sprintf("w.varint(%d, <u64>%s)", f.number, value)
	}
	switch {
	case f.repeated && f.kind == kindUint64:
		return fmt.Sprintf("w.packed(%d, %s);", f.number, name)
	case f.repeated:
		return fmt.Sprintf("for (let i = 0; i < %s.length; i++) %s;", name, put(name+"[i]"))
	case f.optional:
		return fmt.Sprintf("if (this.%s) %s;", camel("has_"+f.name), put(name))
	case f.kind == kindMap, f.kind == kindValue:
		return put(name) + ";"
	case f.kind == kindMessage:
		return fmt.Sprintf("w.messageUnlessEmpty(%d, %s);", f.number, name)
	case f.kind == kindString, f.kind == kindBytes:
		return fmt.Sprintf("if (%s.length > 0) %s;", name, put(name))
	case f.kind == kindBool:
		return fmt.Sprintf("if (%s) %s;", name, put(name))
	default:
		return fmt.Sprintf("if (%s != 0) %s;", name, put(name))
	}
}

// asRead are the statements that read a field, if it is the one that comes.
func asRead(f field) []string {
	name := "this." + asName(f.name)
	wire, read := 0, ""
	switch f.kind {
	case kindUint32, kindEnum:
		read = "<u32>r.varint()"
	case kindUint64:
		read = "r.varint()"
	case kindInt64:
		read = "<i64>r.varint()"
	case kindSint64:
		read = "r.zigzag()"
	case kindBool:
		read = "r.varint() != 0"
	case kindString:
		wire, read = 2, "r.text()"
	case kindBytes:
		wire, read = 2, "r.bytes()"
	case kindValue:
		wire, read = 2, "r.value()"
	case kindMap:
		return []string{fmt.Sprintf("if (number == %d && wire == 2) return r.entry(%s);", f.number, name)}
	case kindMessage:
		if f.repeated {
			return []string{
				fmt.Sprintf("if (number == %d && wire == 2) {", f.number),
				fmt.Sprintf("  const element = new %s();", f.message),
				fmt.Sprintf("  return r.message(element) && r.push<%s>(%s, element);", f.message, name),
				"}",
			}
		}
		has := ""
		if f.optional {
			has = fmt.Sprintf("this.%s = true; ", camel("has_"+f.name))
		}
		return []string{fmt.Sprintf("if (number == %d && wire == 2) { %sreturn r.message(%s); }", f.number, has, name)}
	}
	at := fmt.Sprintf("if (number == %d && wire == %d) ", f.number, wire)
	scalar, _ := asScalar(f)
	switch {
	case f.repeated && wire == 0:
		return []string{
			at + fmt.Sprintf("return r.push<%s>(%s, %s);", scalar, name, read),
			fmt.Sprintf("if (number == %d && wire == 2) return r.packed(%s);", f.number, name),
		}
	case f.repeated:
		return []string{at + fmt.Sprintf("return r.push<%s>(%s, %s);", scalar, name, read)}
	case f.optional:
		return []string{at + fmt.Sprintf("{ this.%s = true; %s = %s; return r.ok; }", camel("has_"+f.name), name, read)}
	default:
		return []string{at + fmt.Sprintf("{ %s = %s; return r.ok; }", name, read)}
	}
}

// asOps is assembly/ops.ts.
func asOps(s *schema) string {
	var t text
	t.f("// %s\n", generated)
	t.f("import * as m from \"./messages\";")
	t.f("import { Message, Writer } from \"./wire\";")
	t.f("import { fail, unsupported } from \"./error\";\n")
	t.f("/** Numbers of operations: of a guest below 0x1000, of the host from there on. */")
	t.f("export namespace Op {")
	for _, o := range slices.Concat(s.guestOps, s.hostOps) {
		t.f("  export const %s: u32 = 0x%02x;", strings.ToUpper(o.method()), o.number)
	}
	t.f("}\n")
	for _, set := range s.columns {
		asDoc(&t, "", set.doc)
		t.f("export namespace %sColumn {", set.name)
		for i, c := range set.columns {
			asDoc(&t, "  ", c.doc)
			t.f("  export const %s: i32 = %d;", strings.ToUpper(c.name), i)
		}
		t.f("  /** How many columns there are. */")
		t.f("  export const COLUMNS: i32 = %d;", len(set.columns))
		t.f("}\n")
	}
	t.f("/** What a plugin is. An operation returns its reply, or null after fail(…); what is not overridden answers")
	t.f(" * unsupported. The manifest must declare what the plugin has: abi/ABI.md says what each operation must do. */")
	t.f("export abstract class Plugin {")
	t.f("  /** Says what the plugin is, the same every time. */")
	t.f("  abstract manifest(): m.Manifest;\n")
	t.f("  /** Takes the configuration, a JSON object. Diagnostics in the reply refuse it key by key. */")
	t.f("  configure(request: m.ConfigureRequest): m.ConfigureReply | null { return new m.ConfigureReply(); }")
	t.f("  /** Says in a sentence how the plugin is. */")
	t.f("  health(): m.HealthReply | null { return new m.HealthReply(); }")
	t.f("  /** Releases what the plugin holds outside. No call follows it. */")
	t.f("  close(): m.Empty | null { return new m.Empty(); }")
	for _, o := range groupOps(s) {
		request := ""
		if o.request != "Empty" {
			request = "request: m." + o.request
		}
		t.f("  /** %s */", o.name)
		t.f("  %s(%s): m.%s | null { unsupported(%q); return null; }", camel(o.method()), request, o.reply, o.name)
	}
	t.f("}\n")
	t.f("function put(reply: Message | null, out: Writer): bool {")
	t.f("  if (reply === null) return false;")
	t.f("  (reply as Message).encode(out);")
	t.f("  return true;")
	t.f("}\n")
	t.f("function decode(request: Message, body: Uint8Array): bool {")
	t.f("  const why = request.decode(body);")
	t.f("  if (why.length == 0) return true;")
	t.f("  fail(m.Code.INVALID, \"malformed message: \" + why);")
	t.f("  return false;")
	t.f("}\n")
	t.f("/** Runs one operation; false is an error, which fail has noted. */")
	t.f("export function dispatch(p: Plugin, op: u32, body: Uint8Array, out: Writer): bool {")
	t.f("  switch (op) {")
	t.f("    case Op.DESCRIBE: return put(p.manifest(), out);")
	t.f("    case Op.CONFIGURE: {")
	t.f("      const request = new m.ConfigureRequest();")
	t.f("      return decode(request, body) && put(p.configure(request), out);")
	t.f("    }")
	t.f("    case Op.CLOSE: return put(p.close(), out);")
	t.f("    case Op.HEALTH: return put(p.health(), out);")
	t.f("    case Op.ECHO: out.raw(body); return true;")
	for _, o := range groupOps(s) {
		if o.request == "Empty" {
			t.f("    case Op.%s: return put(p.%s(), out);", strings.ToUpper(o.method()), camel(o.method()))
			continue
		}
		t.f("    case Op.%s: {", strings.ToUpper(o.method()))
		t.f("      const request = new m.%s();", o.request)
		t.f("      return decode(request, body) && put(p.%s(request), out);", camel(o.method()))
		t.f("    }")
	}
	t.f("  }")
	t.f("  unsupported(\"of this number\");")
	t.f("  return false;")
	t.f("}")
	return t.String()
}
