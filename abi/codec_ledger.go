package abi

// AppendTo implements Message.
func (m *SandboxKey) AppendTo(dst []byte) []byte {
	return appendString(appendString(dst, 1, m.Name), 2, m.SandboxID)
}

// Unmarshal implements Message.
func (m *SandboxKey) Unmarshal(src []byte) error {
	*m = SandboxKey{}
	return m.merge(src)
}

// merge is Unmarshal without the reset: protobuf merges a message field that occurs twice.
func (m *SandboxKey) merge(src []byte) error {
	r := reader{src: src, subject: "SandboxKey"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			m.Name = r.string()
		case 2<<3 | wireBytes:
			m.SandboxID = r.string()
		default:
			r.skip()
		}
	}
	return r.err
}

// appendKey writes a key as field 1, which it is of every request that has one.
func appendKey(dst []byte, key *SandboxKey) []byte {
	return appendNested(dst, 1, key)
}

// AppendTo implements Message.
func (m *LedgerOpenRequest) AppendTo(dst []byte) []byte { return appendKey(dst, &m.Key) }

// Unmarshal implements Message.
func (m *LedgerOpenRequest) Unmarshal(src []byte) error {
	*m = LedgerOpenRequest{}
	r := reader{src: src, subject: "LedgerOpenRequest"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			r.nested(m.Key.merge(r.bytes()))
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *Head) AppendTo(dst []byte) []byte {
	dst = appendUint(dst, 1, m.Epoch)
	dst = appendSint(dst, 2, m.LastStep)
	dst = appendUint(dst, 3, uint64(m.MaxTS))
	dst = appendUint(dst, 4, m.Entries)
	dst = appendBytes(dst, 5, m.Hash)
	return appendBytes(dst, 6, m.SegmentID)
}

// Unmarshal implements Message.
func (m *Head) Unmarshal(src []byte) error {
	*m = Head{}
	r := reader{src: src, subject: "Head"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireVarint:
			m.Epoch = r.varint()
		case 2<<3 | wireVarint:
			m.LastStep = r.sint64()
		case 3<<3 | wireVarint:
			m.MaxTS = r.int64()
		case 4<<3 | wireVarint:
			m.Entries = r.varint()
		case 5<<3 | wireBytes:
			m.Hash = r.bytes()
		case 6<<3 | wireBytes:
			m.SegmentID = r.bytes()
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *LedgerAppendRequest) AppendTo(dst []byte) []byte {
	dst = appendUint(dst, 1, m.Entries)
	dst = appendUint(dst, 2, m.Segments)
	dst = appendUint(dst, 3, m.EntryCount)
	dst = appendUint(dst, 4, m.SegmentCount)
	return appendUint(dst, 5, m.Size)
}

// Unmarshal implements Message.
func (m *LedgerAppendRequest) Unmarshal(src []byte) error {
	*m = LedgerAppendRequest{}
	r := reader{src: src, subject: "LedgerAppendRequest"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireVarint:
			m.Entries = r.varint()
		case 2<<3 | wireVarint:
			m.Segments = r.varint()
		case 3<<3 | wireVarint:
			m.EntryCount = r.varint()
		case 4<<3 | wireVarint:
			m.SegmentCount = r.varint()
		case 5<<3 | wireVarint:
			m.Size = r.varint()
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *LedgerAppendReply) AppendTo(dst []byte) []byte { return appendBool(dst, 1, m.Already) }

// Unmarshal implements Message.
func (m *LedgerAppendReply) Unmarshal(src []byte) error {
	*m = LedgerAppendReply{}
	r := reader{src: src, subject: "LedgerAppendReply"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireVarint:
			m.Already = r.bool()
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *LedgerReadRequest) AppendTo(dst []byte) []byte {
	dst = appendKey(dst, &m.Key)
	dst = appendBytes(dst, 2, m.Cursor)
	dst = appendUint(dst, 3, m.Limit)
	dst = appendUint(dst, 4, m.MaxBytes)
	return appendUint(dst, 5, m.Last)
}

// Unmarshal implements Message.
func (m *LedgerReadRequest) Unmarshal(src []byte) error {
	*m = LedgerReadRequest{}
	r := reader{src: src, subject: "LedgerReadRequest"}
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
		case 5<<3 | wireVarint:
			m.Last = r.varint()
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *RowsReply) AppendTo(dst []byte) []byte {
	dst = appendUint(dst, 1, m.Rows)
	dst = appendBytes(dst, 2, m.Table)
	dst = appendBytes(dst, 3, m.Cursor)
	dst = appendBool(dst, 4, m.More)
	return appendUint(dst, 5, uint64(m.Now))
}

// Unmarshal implements Message.
func (m *RowsReply) Unmarshal(src []byte) error {
	*m = RowsReply{}
	r := reader{src: src, subject: "RowsReply"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireVarint:
			m.Rows = r.varint()
		case 2<<3 | wireBytes:
			m.Table = r.bytes()
		case 3<<3 | wireBytes:
			m.Cursor = r.bytes()
		case 4<<3 | wireVarint:
			m.More = r.bool()
		case 5<<3 | wireVarint:
			m.Now = r.int64()
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *LastCheckpointRequest) AppendTo(dst []byte) []byte {
	return appendString(appendKey(dst, &m.Key), 2, m.Tag)
}

// Unmarshal implements Message.
func (m *LastCheckpointRequest) Unmarshal(src []byte) error {
	*m = LastCheckpointRequest{}
	r := reader{src: src, subject: "LastCheckpointRequest"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			r.nested(m.Key.merge(r.bytes()))
		case 2<<3 | wireBytes:
			m.Tag = r.string()
		default:
			r.skip()
		}
	}
	return r.err
}
