package abi

// AppendTo implements Message.
func (m *PageRequest) AppendTo(dst []byte) []byte {
	dst = appendBytes(dst, 1, m.Cursor)
	dst = appendUint(dst, 2, m.Limit)
	return appendUint(dst, 3, m.MaxBytes)
}

// Unmarshal implements Message.
func (m *PageRequest) Unmarshal(src []byte) error {
	*m = PageRequest{}
	r := reader{src: src, subject: "PageRequest"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			m.Cursor = r.bytes()
		case 2<<3 | wireVarint:
			m.Limit = r.varint()
		case 3<<3 | wireVarint:
			m.MaxBytes = r.varint()
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *SandboxPageRequest) AppendTo(dst []byte) []byte {
	dst = appendKey(dst, &m.Key)
	dst = appendBytes(dst, 2, m.Cursor)
	dst = appendUint(dst, 3, m.Limit)
	return appendUint(dst, 4, m.MaxBytes)
}

// Unmarshal implements Message.
func (m *SandboxPageRequest) Unmarshal(src []byte) error {
	*m = SandboxPageRequest{}
	r := reader{src: src, subject: "SandboxPageRequest"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			r.nested(m.Key.merge(r.bytes()))
		case 2<<3 | wireBytes:
			m.Cursor = r.bytes()
		case 3<<3 | wireVarint:
			m.Limit = r.varint()
		case 4<<3 | wireVarint:
			m.MaxBytes = r.varint()
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *Usage) AppendTo(dst []byte) []byte {
	dst = appendUint(dst, 1, m.Entries)
	dst = appendUint(dst, 2, m.Bytes)
	dst = appendUint(dst, 3, uint64(m.FirstTS))
	dst = appendUint(dst, 4, uint64(m.LastTS))
	dst = appendBool(dst, 5, m.Created)
	return appendBool(dst, 6, m.Closed)
}

// Unmarshal implements Message.
func (m *Usage) Unmarshal(src []byte) error {
	*m = Usage{}
	r := reader{src: src, subject: "Usage"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireVarint:
			m.Entries = r.varint()
		case 2<<3 | wireVarint:
			m.Bytes = r.varint()
		case 3<<3 | wireVarint:
			m.FirstTS = r.int64()
		case 4<<3 | wireVarint:
			m.LastTS = r.int64()
		case 5<<3 | wireVarint:
			m.Created = r.bool()
		case 6<<3 | wireVarint:
			m.Closed = r.bool()
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *Stats) AppendTo(dst []byte) []byte {
	dst = appendSint(dst, 1, m.Entries)
	dst = appendSint(dst, 2, m.StorageBytes)
	return appendUint(dst, 3, uint64(m.SchemaVersion))
}

// Unmarshal implements Message.
func (m *Stats) Unmarshal(src []byte) error {
	*m = Stats{}
	r := reader{src: src, subject: "Stats"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireVarint:
			m.Entries = r.sint64()
		case 2<<3 | wireVarint:
			m.StorageBytes = r.sint64()
		case 3<<3 | wireVarint:
			m.SchemaVersion = r.int64()
		default:
			r.skip()
		}
	}
	return r.err
}
