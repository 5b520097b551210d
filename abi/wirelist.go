package abi

// appendStrings writes a repeated string.
func appendStrings(dst []byte, field uint32, list []string) []byte {
	for _, v := range list {
		dst = appendElement(dst, field, v)
	}
	return dst
}

// appendPacked writes a repeated uint64.
func appendPacked(dst []byte, field uint32, list []uint64) []byte {
	if len(list) == 0 {
		return dst
	}
	dst, body := begin(dst, field)
	for _, v := range list {
		dst = appendVarint(dst, v)
	}
	return end(dst, body)
}

// appendNested writes a singular message, unless it is empty.
func appendNested(dst []byte, field uint32, m Message) []byte {
	start := len(dst)
	dst, body := begin(dst, field)
	return endNonEmpty(m.AppendTo(dst), start, body)
}

// element reads one more text of a repeated string.
func (r *reader) element(list []string) []string {
	if !r.room(len(list)) {
		return list
	}
	return append(list, r.string())
}

// number reads one more number of a repeated uint64 that is not packed.
func (r *reader) number(list []uint64) []uint64 {
	if !r.room(len(list)) {
		return list
	}
	return append(list, r.varint())
}

// packed reads the numbers of a packed field.
func (r *reader) packed(list []uint64) []uint64 {
	inner := reader{src: r.bytes(), subject: r.subject}
	for inner.at < len(inner.src) {
		list = inner.number(list)
	}
	r.nested(inner.err)
	return list
}
