package meter_test

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/internal/plugin/meter"
)

// part is a section of a module written by hand.
type part struct {
	id   byte
	body []byte
}

func build(parts ...part) []byte {
	out := []byte("\x00asm\x01\x00\x00\x00")
	for _, p := range parts {
		out = append(binary.AppendUvarint(append(out, p.id), uint64(len(p.body))), p.body...)
	}
	return out
}

func cat(parts ...any) []byte {
	var out []byte
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			out = append(out, byte(p))
		case string:
			out = append(append(out, byte(len(p))), p...)
		case []byte:
			out = append(out, p...)
		}
	}
	return out
}

// code is a module with one function () -> (), an imported one, a mutable i32 global, a table, a
// memory and a passive data segment: everything that an instruction may name.
func code(body ...byte) []byte {
	function := append([]byte{0}, body...) // no locals
	return build(
		part{1, cat(1, 0x60, 0, 0)},
		part{2, cat(1, "env", "f", 0, 0)},
		part{3, cat(1, 0)},
		part{4, cat(1, 0x70, 0, 1)},
		part{5, cat(1, 0, 1)},
		part{6, cat(1, 0x7f, 1, 0x41, 0, 0x0b)},
		part{12, cat(1)},
		part{10, cat(1, binary.AppendUvarint(nil, uint64(len(function))), function)},
		part{11, cat(1, 1, "x")},
	)
}

func exported(kind, index int) []byte {
	return build(
		part{1, cat(1, 0x60, 0, 0)},
		part{2, cat(1, "env", "f", 0, 0)},
		part{3, cat(1, 0)},
		part{4, cat(1, 0x70, 0, 1)},
		part{5, cat(1, 0, 1)},
		part{6, cat(1, 0x7f, 1, 0x41, 0, 0x0b)},
		part{7, cat(1, "x", kind, index)},
		part{10, cat(1, 2, 0, 0x0b)},
	)
}

func elements(segment ...byte) []byte {
	return build(
		part{1, cat(1, 0x60, 0, 0)},
		part{3, cat(1, 0)},
		part{4, cat(1, 0x70, 0, 1)},
		part{9, cat(1, segment)},
		part{10, cat(1, 2, 0, 0x0b)},
	)
}

// Everything by which a guest could reach the fuel, the tick or more of the host than it may have.
func TestRefusals(t *testing.T) {
	t.Parallel()
	huge := []byte{0xff, 0xff, 0xff, 0xff, 0x0f} // 1<<32-1
	for _, c := range []struct {
		name string
		wasm []byte
		want string // what the error says
	}{
		// The module has function 0 and 1, tick would be 1 and the function 2 in the rewritten form.
		{"call past the functions", code(0x10, 2, 0x0b), "function 2 does not exist, the module has 2"},
		{"reference past the functions", code(0xd2, 2, 0x1a, 0x0b), "function 2 does not exist"},
		{"export past the functions", exported(0, 2), "function 2 does not exist"},
		{"start past the functions", build(part{8, cat(0)}), "function 0 does not exist, the module has 0"},
		{"element past the functions", elements(0, 0x41, 0, 0x0b, 1, 1), "function 1 does not exist"},
		{"passive element past the functions", elements(1, 0, 1, 1), "function 1 does not exist"},
		{"element expression past the functions", elements(5, 0x70, 1, 0xd2, 1, 0x0b), "function 1 does not exist"},
		{"global initialised past the functions", build(part{6, cat(1, 0x70, 0, 0xd2, 0, 0x0b)}), "function 0 does not exist"},
		// The fuel is global 1.
		{"read of the fuel", code(0x23, 1, 0x1a, 0x0b), "global 1 does not exist, the module has 1"},
		{"write of the fuel", code(0x41, 0, 0x24, 1, 0x0b), "global 1 does not exist, the module has 1"},
		{"write of the fuel, padded", code(0x41, 0, 0x24, 0x81, 0x80, 0, 0x0b), "global 1 does not exist"},
		{"export of the fuel", exported(3, 1), "global 1 does not exist"},
		{"offset from the fuel", elements(0, 0x23, 0, 0x0b, 1, 0), "global 0 does not exist"},
		// The type of tick is type 1.
		{"indirect call by the type of tick", code(0x41, 0, 0x41, 0, 0x11, 1, 0, 0x0b), "type 1 does not exist, the module has 1"},
		{"block by the type of tick", code(0x41, 0, 0x02, 1, 0x1a, 0x0b, 0x0b), "type 1 does not exist"},
		{"function by the type of tick", build(part{1, cat(1, 0x60, 0, 0)}, part{3, cat(1, 1)}), "type 1 does not exist"},
		{"import by the type of tick", build(part{2, cat(1, "env", "f", 0, 0)}), "type 0 does not exist"},
		// The scratch local is local 0 of a function without any.
		{"read of the scratch local", code(0x20, 0, 0x1a, 0x0b), "local 0 does not exist, the module has 0"},
		{"write of the scratch local", code(0x41, 0, 0x41, 0, 0x41, 0, 0xfc, 11, 0, 0x41, 0, 0x21, 0, 0x0b), "local 0 does not exist"},
		{"call of another table", code(0x41, 0, 0x11, 0, 1, 0x0b), "table 1 does not exist"},
		{"get of another table", code(0x41, 0, 0x25, 1, 0x1a, 0x0b), "table 1 does not exist"},
		{"another data segment", code(0x41, 0, 0x41, 0, 0x41, 0, 0xfc, 8, 1, 0, 0x0b), "data segment 1 does not exist"},
		{"another element segment", code(0xfc, 13, 0, 0x0b), "element segment 0 does not exist"},
		{"label outside the function", code(0x0c, 1, 0x0b), "label 1 does not exist, the module has 1"},

		{"import of the host's own", build(part{1, cat(1, 0x60, 1, 0x7f, 0)}, part{2, cat(1, "alineo_rt", "tick", 0, 0)}), "which is the host's own"},
		{"imported memory", build(part{2, cat(1, "env", "memory", 2, 0, 1)}), `import of memory "env"."memory" is not supported`},
		{"imported table", build(part{2, cat(1, "env", "t", 1, 0x70, 0, 1)}), `import of table "env"."t" is not supported`},
		{"imported global", build(part{2, cat(1, "env", "g", 3, 0x7f, 1)}), `import of global "env"."g" is not supported`},
		{"imported tag", build(part{2, cat(1, "env", "e", 4, 0, 0)}), `import of unknown kind "env"."e" is not supported`},
		{"two memories", build(part{5, cat(2, 0, 1, 0, 1)}), "2 memories, at most 1 are supported"},
		{"shared memory", build(part{5, cat(1, 3, 1, 1)}), "memory with limits of kind 0x3 (shared or 64-bit) is not supported"},
		{"64-bit memory", build(part{5, cat(1, 4, 1)}), "memory with limits of kind 0x4"},
		{"memory index", code(0x41, 0, 0x40, 1, 0x1a, 0x0b), "memory index 0x1 is not supported"},
		{"memory above the limit", build(part{5, cat(1, 0, 17)}), "starts with 17 pages of memory (1114112 bytes), 16 pages (1048576 bytes) are allowed"},
		{"table above the limit", build(part{4, cat(1, 0x70, 0, 0x81, 8)}), "tables of 1025 elements, at most 1024 are allowed"},
		{"many tables", build(part{4, cat(17, make([]byte, 60))}), "17 tables, at most 16 are supported"},
		{"table with an initialiser", build(part{4, cat(1, 0x40, 0, 0x70, 0, 1, 0xd0, 0x70, 0x0b)}), "reference type 0x40 is not supported"},
		{"recursive types", build(part{1, cat(1, 0x4e, 1, 0x60, 0, 0)}), "type form 0x4e is not supported"},
		{"reference to a type", build(part{1, cat(1, 0x60, 1, 0x64, 0, 0)}), "type 0x64 is not supported"},
		{"tags", build(part{13, cat(1, 0, 0)}), "section 13 is not supported (tags of the exception handling proposal)"},
		{"unknown section", build(part{14, nil}), "section 14 is not supported"},
		{"sections out of order", build(part{3, cat(0)}, part{1, cat(0)}), "offset 0xb: section 1 is out of order"},
		{"section twice", build(part{1, cat(0)}, part{1, cat(0)}), "section 1 is out of order"},

		{"threads", code(0x41, 0, 0xfe, 0x10, 2, 0, 0x1a, 0x0b), "opcode 0xfe is not supported (threads)"},
		{"tail call", code(0x12, 0, 0x0b), "opcode 0x12 is not supported (tail calls)"},
		{"exceptions", code(0x08, 0, 0x0b), "opcode 0x08 is not supported (exception handling)"},
		{"garbage collection", code(0xfb, 0, 0, 0x0b), "opcode 0xfb is not supported (garbage collection)"},
		{"call by reference", code(0x14, 0, 0x0b), "opcode 0x14 is not supported (typed function references)"},
		{"unassigned", code(0xff, 0x0b), "opcode 0xff is not supported"},
		{"unassigned conversion", code(0xfc, 18, 0x0b), "opcode 0xfc 18 is not supported"},
		{"truncated by the engine", code(0xfc, 0x8b, 2, 0, 0x0b), "opcode 0xfc 267 is not supported"},
		{"relaxed vectors", code(0xfd, 0x80, 2, 0x0b), "opcode 0xfd 256 is not supported (relaxed vectors)"},
		// The engine reads one byte of a vector opcode: this is v128.const to us and something shorter to it,
		// with code of the guest's choice, an endless loop, in what we would take for the constant.
		{"padded vector opcode", code(cat(0xfd, 0x8c, 0, 0x03, 0x40, 0x0c, 0, 0x0b, make([]byte, 11), 0x1a, 0x0b)...), "opcode 0xfd 12 is padded"},
		{"vector gap", code(0xfd, 0x9a, 1, 0x0b), "opcode 0xfd 154 is not supported"},
		{"block of another type", code(0x02, 0x69, 0x0b, 0x0b), "block type -23 is not supported"},
		{"block of a reference", code(0x02, 0x64, 0x70, 0x0b, 0x0b), "block type -28 is not supported"},
		{"null of a type", code(0xd0, 0, 0x1a, 0x0b), "reference type 0x0 is not supported"},
		{"select of two", code(0x1c, 2, 0x7f, 0x7f, 0x0b), "select of 2 types is not supported"},
		{"memory flags", code(0x41, 0, 0x28, 0x42, 0, 0, 0x1a, 0x0b), "alignment 66 is not supported"},
		{"extended constants", build(part{6, cat(1, 0x7f, 0, 0x41, 1, 0x41, 1, 0x6a, 0x0b)}), "opcode 0x6a is not supported in a constant expression"},

		{"end too early", code(0x0b, 0x0b), "1 bytes after the end of the function"},
		{"no end", code(0x01), "unexpected end"},
		{"bodies without functions", build(part{10, cat(1, 2, 0, 0x0b)}), "1 function bodies for 0 functions"},
		{"functions without bodies", build(part{1, cat(1, 0x60, 0, 0)}, part{3, cat(1, 0)}), "1 functions without code"},
		{"data that is missing", build(part{12, cat(1)}), "1 data segments were announced, there are none"},
		{"data count that differs", build(part{5, cat(1, 0, 1)}, part{12, cat(2)}, part{11, cat(1, 1, "x")}), "1 data segments, 2 were announced"},

		// Lengths by which an engine would allocate.
		{"types", build(part{1, huge}), "4294967295 types cannot be in 0 bytes"},
		{"imports", build(part{2, huge}), "4294967295 imports cannot be in 0 bytes"},
		{"functions", build(part{3, huge}), "4294967295 functions cannot be in 0 bytes"},
		{"globals", build(part{6, huge}), "4294967295 globals cannot be in 0 bytes"},
		{"exports", build(part{7, huge}), "4294967295 exports cannot be in 0 bytes"},
		{"element segments", build(part{9, huge}), "4294967295 element segments cannot be in 0 bytes"},
		{"elements", elements(cat(1, 0, huge)...), "4294967295 elements cannot be in 0 bytes"},
		{"bodies", build(part{10, huge}), "4294967295 function bodies cannot be in 0 bytes"},
		{"data segments", build(part{11, huge}), "4294967295 data segments cannot be in 0 bytes"},
		{"data", build(part{11, cat(1, 1, huge)}), "unexpected end: 4294967295 bytes wanted, 0 left"},
		{"parameters", build(part{1, cat(1, 0x60, huge)}), "4294967295 parameters cannot be in 0 bytes"},
		{"locals", build(part{1, cat(1, 0x60, 0, 0)}, part{3, cat(1, 0)}, part{10, cat(1, 8, 1, huge, 0x7f, 0x0b)}), "4294967295 locals, at most 50000"},
		{"targets", code(cat(0x0e, huge, 0x0b)...), "4294967295 branch targets cannot be in 1 bytes"},
		{"section", append(build(), cat(1, huge)...), "unexpected end: 4294967295 bytes wanted, 0 left"},
		{"compile time of loops", code(cat(bytes.Repeat([]byte{0x03, 0x40, 0x0b}, 14_000), 0x0b)...), "function of 14000 loops and 0 branches would take too long to compile"},
		{"compile time of branches", code(cat(bytes.Repeat([]byte{0x41, 0, 0x04, 0x40, 0x0b}, 50_000), 0x0b)...), "0 loops and 50000 branches"},
		{"nesting", code(cat(bytes.Repeat([]byte{0x02, 0x40}, 60_000), bytes.Repeat([]byte{0x0b}, 60_001))...), "more than 50000 blocks within each other"},
		{"number too long", build(part{1, cat(0x80, 0x80, 0x80, 0x80, 0x80, 0)}), "number does not fit into 32 bits"},
		{"number too large", build(part{1, cat(0xff, 0xff, 0xff, 0xff, 0x1f)}), "number does not fit into 32 bits"},
		{"constant too large", code(0x41, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x1a, 0x0b), "number does not fit into 32 bits"},
		{"name that is no text", build(part{7, cat(1, 1, 0xff, 0, 0)}), "name is not UTF-8"},

		{"text", []byte("#!/bin/sh\n"), "not a WebAssembly module of version 1"},
		{"component", []byte("\x00asm\x0d\x00\x01\x00"), "not a WebAssembly module of version 1"},
		{"nothing", nil, "not a WebAssembly module of version 1"},
	} {
		_, _, err := meter.Rewrite(c.wasm, meter.Options{MaxMemoryPages: 16, MaxTableEntries: 1024})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one that says %q", c.name, err, c.want)
		}
	}
}

// Numbers may be padded, and are written in canonical form.
func TestPaddedNumbers(t *testing.T) {
	t.Parallel()
	metered, _, err := meter.Rewrite(code(0x41, 0x85, 0x80, 0x80, 0x80, 0, 0x24, 0x80, 0, 0x0b), meter.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if canonical := string([]byte{0x41, 5, 0x24, 0, 0x0b}); !strings.Contains(string(metered), canonical) {
		t.Errorf("padding was kept: %x", metered)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for _, interval := range []int32{-1, 1<<30 + 1} {
		if _, _, err := meter.Rewrite(build(), meter.Options{Interval: interval}); err == nil {
			t.Errorf("interval %d was taken", interval)
		}
	}
	if _, _, err := meter.Rewrite(build(), meter.Options{Interval: 1 << 30}); err != nil {
		t.Error(err)
	}
}
