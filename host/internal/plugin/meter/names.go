package meter

import "unicode/utf8"

// nameFunction is the subsection with the names of functions.
const nameFunction = 1

// maxName bounds a name in a stack trace.
const maxName = 200

// appendNames appends a name section with the function names of the original one, under their new
// indexes. What is wrong in it is left out: names are no part of what a module does.
func (w *rewriter) appendNames(dst []byte, section *reader) []byte {
	count := uint32(1)
	var imported, defined []byte
	if section != nil {
		next := uint32(0) // indexes must ascend
		for section.more() {
			id := section.byte()
			sub := section.sub(section.u32())
			if id != nameFunction {
				continue
			}
			for n := sub.count("names", maxFunctions); n > 0 && sub.err == nil; n-- {
				f, name := sub.u32(), sub.name()
				if sub.err != nil || f < next || f >= w.functions() {
					continue
				}
				next = f + 1
				count++
				if f < w.imports {
					imported = appendName(appendU32(imported, f), plainName(name))
				} else {
					defined = appendName(appendU32(defined, w.remap(f)), plainName(name))
				}
			}
		}
	}
	names := append(appendU32(nil, count), imported...)
	names = appendName(appendU32(names, w.tick()), []byte(ModuleName+"."+TickName))
	names = append(names, defined...)
	body := appendName(nil, []byte("name"))
	body = appendName(append(body, nameFunction), names)
	return append(appendU32(append(dst, secCustom), uint32(len(body))), body...)
}

// plainName makes a guest's own words fit for one line of a log.
func plainName(name []byte) []byte {
	if len(name) > maxName {
		name = name[:maxName]
		for len(name) > 0 && !utf8.Valid(name) {
			name = name[:len(name)-1]
		}
	}
	out := make([]byte, len(name))
	for i, c := range name {
		if c < ' ' || c == 0x7f {
			c = '?'
		}
		out[i] = c
	}
	return out
}
