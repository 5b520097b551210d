package abi

// AppendTo implements Message.
func (m *BatchRead) AppendTo(dst []byte) []byte {
	dst = appendUint(dst, 1, m.Handle)
	dst = appendUint(dst, 2, m.First)
	dst = appendUint(dst, 3, m.MaxRows)
	return appendUint(dst, 4, m.MaxBytes)
}

// Unmarshal implements Message.
func (m *BatchRead) Unmarshal(src []byte) error {
	*m = BatchRead{}
	r := reader{src: src, subject: "BatchRead"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireVarint:
			m.Handle = r.varint()
		case 2<<3 | wireVarint:
			m.First = r.varint()
		case 3<<3 | wireVarint:
			m.MaxRows = r.varint()
		case 4<<3 | wireVarint:
			m.MaxBytes = r.varint()
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *BatchRows) AppendTo(dst []byte) []byte {
	dst = appendBytes(dst, 1, m.Table)
	dst = appendUint(dst, 2, m.Next)
	return appendPacked(dst, 3, m.Cut)
}

// Unmarshal implements Message.
func (m *BatchRows) Unmarshal(src []byte) error {
	*m = BatchRows{Cut: m.Cut[:0]}
	r := reader{src: src, subject: "BatchRows"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			m.Table = r.bytes()
		case 2<<3 | wireVarint:
			m.Next = r.varint()
		case 3<<3 | wireBytes:
			m.Cut = r.packed(m.Cut)
		case 3<<3 | wireVarint:
			m.Cut = r.number(m.Cut)
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *BatchCell) AppendTo(dst []byte) []byte {
	dst = appendUint(dst, 1, m.Handle)
	dst = appendUint(dst, 2, m.Row)
	dst = appendUint(dst, 3, m.Column)
	dst = appendUint(dst, 4, m.Offset)
	return appendUint(dst, 5, m.Length)
}

// Unmarshal implements Message.
func (m *BatchCell) Unmarshal(src []byte) error {
	*m = BatchCell{}
	r := reader{src: src, subject: "BatchCell"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireVarint:
			m.Handle = r.varint()
		case 2<<3 | wireVarint:
			m.Row = r.varint()
		case 3<<3 | wireVarint:
			m.Column = r.varint()
		case 4<<3 | wireVarint:
			m.Offset = r.varint()
		case 5<<3 | wireVarint:
			m.Length = r.varint()
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *BatchBytes) AppendTo(dst []byte) []byte {
	return appendUint(appendBytes(dst, 1, m.Data), 2, m.Total)
}

// Unmarshal implements Message.
func (m *BatchBytes) Unmarshal(src []byte) error {
	*m = BatchBytes{}
	r := reader{src: src, subject: "BatchBytes"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			m.Data = r.bytes()
		case 2<<3 | wireVarint:
			m.Total = r.varint()
		default:
			r.skip()
		}
	}
	return r.err
}
