package main

import (
	"fmt"
	"strings"
)

// text collects lines.
type text struct{ strings.Builder }

func (t *text) f(format string, args ...any) { fmt.Fprintf(t, format+"\n", args...) }

// comment writes a documentation comment, with every line behind the prefix.
func (t *text) comment(prefix, doc string) {
	if doc == "" {
		return
	}
	for line := range strings.SplitSeq(doc, "\n") {
		t.f("%s", strings.TrimRight(prefix+" "+line, " "))
	}
}

const generated = "Written by internal/sdkgen from abi/. Do not edit."

// rustMessages is src/messages.rs.
func rustMessages(s *schema) string {
	var t text
	t.f("// %s\n", generated)
	t.f("//! The messages of the ABI, as structs.\n")
	t.f("use crate::table::Value;")
	t.f("use crate::wire::{self, Malformed, Message, Reader};")
	t.f("use std::collections::BTreeMap;")
	for _, e := range s.enums {
		t.f("")
		t.comment("///", e.doc)
		t.f("pub mod %s {", snake(e.name))
		for _, v := range e.values {
			t.comment("    ///", v.doc)
			t.f("    pub const %s: u32 = %d;", v.name, v.number)
		}
		t.f("}")
	}
	for _, m := range s.messages {
		rustMessage(&t, m)
	}
	rustRecode(&t, s)
	return t.String()
}

func rustMessage(t *text, m message) {
	t.f("")
	t.comment("///", m.doc)
	t.f("#[derive(Clone, Debug, Default, PartialEq)]")
	t.f("pub struct %s {", m.name)
	for _, f := range m.fields {
		t.comment("    ///", f.doc)
		t.f("    pub %s: %s,", rustName(f.name), rustType(f))
	}
	t.f("}\n")
	t.f("impl Message for %s {", m.name)
	out := "out"
	if len(m.fields) == 0 {
		out = "_out"
	}
	t.f("    fn encode(&self, %s: &mut Vec<u8>) {", out)
	for _, f := range m.fields {
		t.f("        %s", rustPut(f))
	}
	t.f("    }\n")
	t.f("    fn merge(&mut self, bytes: &[u8]) -> Result<(), Malformed> {")
	t.f("        let mut r = Reader::new(bytes);")
	t.f("        while let Some((number, wire_type)) = r.tag()? {")
	t.f("            match (number, wire_type) {")
	for _, f := range m.fields {
		for _, arm := range rustArms(f) {
			t.f("                %s", arm)
		}
	}
	t.f("                _ => r.skip(wire_type)?,")
	t.f("            }")
	t.f("        }")
	t.f("        Ok(())")
	t.f("    }")
	t.f("}")
}

// rustName is a field's name, marked where it is a word of the language.
func rustName(name string) string {
	switch name {
	case "as", "box", "const", "fn", "for", "if", "impl", "in", "let", "loop", "match", "mod", "move", "mut", "pub", "ref", "static",
		"struct", "trait", "type", "unsafe", "use", "where", "while", "yield":
		return "r#" + name
	}
	return name
}

func rustScalar(f field) string {
	switch f.kind {
	case kindUint32, kindEnum:
		return "u32"
	case kindUint64:
		return "u64"
	case kindInt64, kindSint64:
		return "i64"
	case kindBool:
		return "bool"
	case kindString:
		return "String"
	case kindBytes:
		return "Vec<u8>"
	case kindValue:
		return "Value"
	case kindMap:
		return "BTreeMap<String, String>"
	case kindMessage:
		return f.message
	}
	return ""
}

func rustType(f field) string {
	switch scalar := rustScalar(f); {
	case f.repeated:
		return "Vec<" + scalar + ">"
	case f.optional:
		return "Option<" + scalar + ">"
	default:
		return scalar
	}
}

// rustPut is the statement that writes a field.
func rustPut(f field) string {
	name := "self." + rustName(f.name)
	put := func(value string) string {
		switch f.kind {
		case kindUint32, kindEnum:
			return fmt.Sprintf("wire::put_varint(out, %d, u64::from(%s))", f.number, value)
		case kindUint64:
			return fmt.Sprintf("wire::put_varint(out, %d, %s)", f.number, value)
		case kindInt64:
			return fmt.Sprintf("wire::put_varint(out, %d, %s as u64)", f.number, value)
		case kindSint64:
			return fmt.Sprintf("wire::put_varint(out, %d, wire::zigzag(%s))", f.number, value)
		case kindBool:
			return fmt.Sprintf("wire::put_varint(out, %d, u64::from(%s))", f.number, value)
		case kindString:
			return fmt.Sprintf("wire::put_bytes(out, %d, %s.as_bytes())", f.number, value)
		case kindBytes:
			return fmt.Sprintf("wire::put_bytes(out, %d, &%s)", f.number, value)
		case kindMessage:
			return fmt.Sprintf("wire::put_message(out, %d, &%s)", f.number, value)
		case kindValue:
			return fmt.Sprintf("wire::put_value(out, %d, &%s)", f.number, value)
		case kindMap:
			return fmt.Sprintf("wire::put_map(out, %d, &%s)", f.number, value)
		}
		return ""
	}
	switch {
	case f.repeated && f.kind == kindUint64:
		return fmt.Sprintf("wire::put_packed(out, %d, &%s);", f.number, name)
	case f.repeated:
		element := strings.Replace(put("element"), "&element", "element", 1)
		return fmt.Sprintf("for element in &%s {\n            %s;\n        }", name, element)
	case f.optional && f.kind >= kindString: // what is not copied is borrowed
		return fmt.Sprintf("if let Some(value) = &%s {\n            %s;\n        }", name, strings.Replace(put("value"), "&value", "value", 1))
	case f.optional:
		return fmt.Sprintf("if let Some(value) = %s {\n            %s;\n        }", name, put("value"))
	case f.kind == kindMap, f.kind == kindValue:
		return put(name) + ";"
	case f.kind == kindMessage:
		return fmt.Sprintf("wire::put_message_unless_empty(out, %d, &%s);", f.number, name)
	case f.kind == kindString, f.kind == kindBytes:
		return fmt.Sprintf("if !%s.is_empty() {\n            %s;\n        }", name, put(name))
	case f.kind == kindBool:
		return fmt.Sprintf("if %s {\n            %s;\n        }", name, put(name))
	default:
		return fmt.Sprintf("if %s != 0 {\n            %s;\n        }", name, put(name))
	}
}

// rustArms are the arms that read a field.
func rustArms(f field) []string {
	name, read, wireType := "self."+rustName(f.name), "", 0
	switch f.kind {
	case kindUint32, kindEnum:
		read = "r.varint()? as u32"
	case kindUint64:
		read = "r.varint()?"
	case kindInt64:
		read = "r.varint()? as i64"
	case kindSint64:
		read = "wire::unzigzag(r.varint()?)"
	case kindBool:
		read = "r.varint()? != 0"
	case kindString:
		read, wireType = "r.string()?", 2
	case kindBytes:
		read, wireType = "r.bytes()?.to_vec()", 2
	case kindValue:
		read, wireType = "wire::value(r.bytes()?)?", 2
	case kindMap:
		return []string{fmt.Sprintf("(%d, 2) => wire::merge_entry(&mut %s, r.bytes()?)?,", f.number, name)}
	case kindMessage:
		if f.repeated {
			return []string{fmt.Sprintf("(%d, 2) => wire::push(&mut %s, Message::decode(r.bytes()?)?)?,", f.number, name)}
		}
		if f.optional {
			name += ".get_or_insert_with(Default::default)"
		}
		return []string{fmt.Sprintf("(%d, 2) => %s.merge(r.bytes()?)?,", f.number, name)}
	}
	switch {
	case f.repeated && wireType == 0:
		return []string{
			fmt.Sprintf("(%d, 0) => wire::push(&mut %s, %s)?,", f.number, name, read),
			fmt.Sprintf("(%d, 2) => wire::merge_packed(&mut %s, r.bytes()?)?,", f.number, name),
		}
	case f.repeated:
		return []string{fmt.Sprintf("(%d, %d) => wire::push(&mut %s, %s)?,", f.number, wireType, name, read)}
	case f.optional:
		return []string{fmt.Sprintf("(%d, %d) => %s = Some(%s),", f.number, wireType, name, read)}
	default:
		return []string{fmt.Sprintf("(%d, %d) => %s = %s,", f.number, wireType, name, read)}
	}
}

// rustRecode is for the golden vectors: it finds a message by its name.
func rustRecode(t *text, s *schema) {
	t.f("\n/// Decodes a message by its name and encodes it again, for tests with the golden vectors. None is a name that")
	t.f("/// this version has not.")
	t.f("pub fn recode(name: &str, bytes: &[u8]) -> Option<Result<Vec<u8>, Malformed>> {")
	t.f("    match name {")
	for _, m := range s.messages {
		t.f("        %q => Some(wire::recode::<%s>(bytes)),", m.name, m.name)
	}
	t.f("        _ => None,")
	t.f("    }")
	t.f("}")
}

// rustOps is src/ops.rs: numbers, columns, the trait that a plugin implements, and what calls it.
func rustOps(s *schema) string {
	var t text
	t.f("// %s\n", generated)
	t.f("//! Operations and columns of the ABI, and the trait that a plugin is.\n")
	t.f("use crate::error::Error;")
	t.f("use crate::messages::*;")
	t.f("use crate::wire::Message;\n")
	t.f("/// Numbers of operations: of a guest below 0x1000, of the host from there on.")
	t.f("pub mod op {")
	for _, o := range append(append([]operation{}, s.guestOps...), s.hostOps...) {
		t.f("    pub const %s: u32 = 0x%02x;", strings.ToUpper(o.method()), o.number)
	}
	t.f("}\n")
	t.f("/// Columns of tables, by the table's name.")
	t.f("pub mod column {")
	for i, set := range s.columns {
		if i > 0 {
			t.f("")
		}
		t.comment("    ///", set.doc)
		t.f("    pub mod %s {", snake(set.name))
		for i, c := range set.columns {
			t.comment("        ///", c.doc)
			t.f("        pub const %s: usize = %d;", strings.ToUpper(c.name), i)
		}
		t.f("        /// How many columns there are.")
		t.f("        pub const COLUMNS: usize = %d;", len(set.columns))
		t.f("    }")
	}
	t.f("}\n")
	t.f("/// What a plugin is. Every method but manifest has a default; an operation that is not written answers")
	t.f("/// `unsupported`. The manifest must declare what the plugin has: see abi/ABI.md, which also says what each")
	t.f("/// operation must do.")
	t.f("pub trait Plugin {")
	t.f("    /// Says what the plugin is, the same every time.")
	t.f("    fn manifest(&self) -> Manifest;\n")
	t.f("    /// Takes the configuration, a JSON object. Diagnostics in the reply refuse it key by key.")
	t.f("    fn configure(&mut self, _request: ConfigureRequest) -> Result<ConfigureReply, Error> {")
	t.f("        Ok(ConfigureReply::default())")
	t.f("    }\n")
	t.f("    /// Says in a sentence how the plugin is; an error says that it is not well.")
	t.f("    fn health(&mut self) -> Result<HealthReply, Error> {")
	t.f("        Ok(HealthReply::default())")
	t.f("    }\n")
	t.f("    /// Releases what the plugin holds outside. No call follows it.")
	t.f("    fn close(&mut self) -> Result<(), Error> {")
	t.f("        Ok(())")
	t.f("    }")
	for _, o := range groupOps(s) {
		request := ""
		if o.request != "Empty" {
			request = ", _request: " + o.request
		}
		reply := "()"
		if o.reply != "Empty" {
			reply = o.reply
		}
		t.f("\n    /// `%s`", o.name)
		t.f("    fn %s(&mut self%s) -> Result<%s, Error> {", o.method(), request, reply)
		t.f("        Err(Error::unsupported(%q))", o.name)
		t.f("    }")
	}
	t.f("}\n")
	t.f("/// Runs one operation and appends its reply.")
	t.f("pub(crate) fn dispatch<P: Plugin>(p: &mut P, op: u32, body: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {")
	t.f("    match op {")
	t.f("        op::DESCRIBE => p.manifest().encode(out),")
	t.f("        op::CONFIGURE => p.configure(ConfigureRequest::decode(body)?)?.encode(out),")
	t.f("        op::CLOSE => p.close()?,")
	t.f("        op::HEALTH => p.health()?.encode(out),")
	t.f("        op::ECHO => out.extend_from_slice(body),")
	for _, o := range groupOps(s) {
		arg := ""
		if o.request != "Empty" {
			arg = o.request + "::decode(body)?"
		}
		encode := ""
		if o.reply != "Empty" {
			encode = ".encode(out)"
		}
		t.f("        op::%s => p.%s(%s)?%s,", strings.ToUpper(o.method()), o.method(), arg, encode)
	}
	t.f("        _ => return Err(Error::unsupported(\"this operation\")),")
	t.f("    }")
	t.f("    Ok(())")
	t.f("}")
	return t.String()
}

// groupOps are the operations of the groups, without those that every guest has.
func groupOps(s *schema) []operation {
	var ops []operation
	const first = 0x10
	for _, o := range s.guestOps {
		if o.number >= first {
			ops = append(ops, o)
		}
	}
	return ops
}
