package main

import (
	"fmt"
	"slices"
	"strings"
)

// cType is a message's name in C.
func cType(message string) string { return "alineo_" + snake(message) }

func cDoc(t *text, indent, doc string) {
	if doc != "" {
		t.f("%s/* %s */", indent, strings.ReplaceAll(doc, "\n", "\n"+indent+" * "))
	}
}

func cScalar(f field) string {
	switch f.kind {
	case kindUint32, kindEnum:
		return "uint32_t "
	case kindUint64:
		return "uint64_t "
	case kindInt64, kindSint64:
		return "int64_t "
	case kindBool:
		return "bool "
	case kindString:
		return "alineo_str "
	case kindBytes:
		return "alineo_bytes "
	case kindValue:
		return "alineo_value "
	case kindMap:
		return "alineo_pair "
	case kindMessage:
		return cType(f.message) + " "
	}
	return ""
}

func (f field) isList() bool { return f.repeated || f.kind == kindMap }

// inOrder are the messages with those that others hold before them.
func inOrder(s *schema) []message {
	byName := map[string]message{}
	for _, m := range s.messages {
		byName[m.name] = m
	}
	var ordered []message
	done := map[string]bool{}
	var add func(m message)
	add = func(m message) {
		if done[m.name] {
			return
		}
		done[m.name] = true
		for _, f := range m.fields {
			if f.kind == kindMessage {
				add(byName[f.message])
			}
		}
		ordered = append(ordered, m)
	}
	for _, m := range s.messages {
		add(m)
	}
	return ordered
}

// cHeader is alineo_messages.h.
func cHeader(s *schema) string {
	var t text
	t.f("/* %s */\n", generated)
	t.f("/* Messages, operations and columns of the ABI, and the functions that a plugin is. Include alineo.h. */\n")
	t.f("#ifndef ALINEO_MESSAGES_H\n#define ALINEO_MESSAGES_H\n")
	for _, e := range s.enums {
		cDoc(&t, "", e.doc)
		t.f("enum {")
		for _, v := range e.values {
			comment := ""
			if v.doc != "" {
				comment = " /* " + v.doc + " */"
			}
			t.f("    ALINEO_%s_%s = %d,%s", strings.ToUpper(snake(e.name)), v.name, v.number, comment)
		}
		t.f("};\n")
	}
	t.f("/* Numbers of operations: of a guest below 0x1000, of the host from there on. */")
	t.f("enum {")
	for _, o := range slices.Concat(s.guestOps, s.hostOps) {
		t.f("    ALINEO_OP_%s = 0x%02x,", strings.ToUpper(o.method()), o.number)
	}
	t.f("};\n")
	for _, set := range s.columns {
		cDoc(&t, "", set.doc)
		t.f("enum {")
		prefix := "ALINEO_" + strings.ToUpper(snake(set.name)) + "_"
		for _, c := range set.columns {
			comment := ""
			if c.doc != "" {
				comment = " /* " + c.doc + " */"
			}
			t.f("    %s%s,%s", prefix, strings.ToUpper(c.name), comment)
		}
		t.f("    %sCOLUMNS,", prefix)
		t.f("};\n")
	}
	for _, m := range inOrder(s) {
		cDoc(&t, "", m.doc)
		t.f("typedef struct %s {", cType(m.name))
		for _, f := range m.fields {
			cDoc(&t, "    ", f.doc)
			switch {
			case f.isList():
				t.f("    %s*%s;", cScalar(f), f.name)
				t.f("    size_t %s_count;", f.name)
			case f.optional:
				t.f("    bool has_%s;", f.name)
				t.f("    %s%s;", cScalar(f), f.name)
			default:
				t.f("    %s%s;", cScalar(f), f.name)
			}
		}
		if len(m.fields) == 0 {
			t.f("    char nothing;")
		}
		t.f("} %s;\n", cType(m.name))
		t.f("extern const alineo_type %s_type;\n", cType(m.name))
	}
	t.f("/* What a plugin is: the manifest, and a function for each operation that it has. What is NULL answers")
	t.f(" * unsupported. A function fills in the reply, which begins as zeros, and returns NULL, or it returns an")
	t.f(" * error (see alineo_fail). Requests and whatever alineo_alloc gives are good until the call returns. */")
	t.f("typedef struct alineo_plugin {")
	t.f("    alineo_manifest manifest;")
	for _, o := range s.guestOps {
		if o.request == "" || o.name == "describe" {
			continue
		}
		t.f("    alineo_error *(*%s)(const %s *request, %s *reply);", o.method(), cType(o.request), cType(o.reply))
	}
	t.f("} alineo_plugin;\n")
	t.f("#endif")
	return t.String()
}

// cSource is alineo_messages.c.
func cSource(s *schema) string {
	var t text
	t.f("/* %s */\n", generated)
	t.f("#include \"alineo.h\"")
	t.f("#include \"alineo_internal.h\"\n")
	for _, m := range s.messages {
		name := cType(m.name)
		if len(m.fields) == 0 {
			t.f("const alineo_type %s_type = {%q, sizeof(%s), 0, 0};\n", name, m.name, name)
			continue
		}
		t.f("static const alineo_field %s_fields[] = {", name)
		for _, f := range m.fields {
			t.f("    %s,", cField(name, f))
		}
		t.f("};")
		t.f("const alineo_type %s_type = {%q, sizeof(%s), %s_fields, %d};\n", name, m.name, name, name, len(m.fields))
	}
	t.f("const alineo_type *const alineo_types[] = {")
	for _, m := range s.messages {
		t.f("    &%s_type,", cType(m.name))
	}
	t.f("    0,")
	t.f("};\n")
	t.f("const alineo_operation alineo_operations[] = {")
	for _, o := range s.guestOps {
		if o.request == "" || o.name == "describe" {
			continue
		}
		t.f("    {0x%02x, %q, &%s_type, &%s_type, offsetof(alineo_plugin, %s)},", o.number, o.name, cType(o.request), cType(o.reply), o.method())
	}
	t.f("    {0, 0, 0, 0, 0},")
	t.f("};")
	return t.String()
}

func cField(message string, f field) string {
	kinds := map[kind]string{
		kindUint32: "UINT32", kindEnum: "UINT32", kindUint64: "UINT64", kindInt64: "INT64", kindSint64: "SINT64", kindBool: "BOOL",
		kindString: "STRING", kindBytes: "BYTES", kindValue: "VALUE", kindMessage: "MESSAGE", kindMap: "MAP",
	}
	label, extra := "SINGLE", "0"
	switch {
	case f.isList():
		label, extra = "REPEATED", fmt.Sprintf("offsetof(%s, %s_count)", message, f.name)
	case f.optional:
		label, extra = "OPTIONAL", fmt.Sprintf("offsetof(%s, has_%s)", message, f.name)
	}
	sub := "0"
	if f.kind == kindMessage {
		sub = "&" + cType(f.message) + "_type"
	}
	return fmt.Sprintf("{%d, ALINEO_KIND_%s, ALINEO_LABEL_%s, offsetof(%s, %s), %s, %s}", f.number, kinds[f.kind], label, message, f.name, extra, sub)
}
