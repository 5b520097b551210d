package abi

// AppendTo implements Message.
func (m *LogAppendRequest) AppendTo(dst []byte) []byte {
	dst = appendString(dst, 1, m.RunID)
	dst = appendUint(dst, 2, m.Epoch)
	dst = appendOptional(dst, 3, m.After)
	dst = appendUint(dst, 4, m.Events)
	dst = appendUint(dst, 5, m.Count)
	return appendUint(dst, 6, m.Size)
}

// Unmarshal implements Message.
func (m *LogAppendRequest) Unmarshal(src []byte) error {
	*m = LogAppendRequest{}
	r := reader{src: src, subject: "LogAppendRequest"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			m.RunID = r.string()
		case 2<<3 | wireVarint:
			m.Epoch = r.varint()
		case 3<<3 | wireVarint:
			v := r.varint()
			m.After = &v
		case 4<<3 | wireVarint:
			m.Events = r.varint()
		case 5<<3 | wireVarint:
			m.Count = r.varint()
		case 6<<3 | wireVarint:
			m.Size = r.varint()
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *LogTail) AppendTo(dst []byte) []byte { return appendUint(dst, 1, m.Tail) }

// Unmarshal implements Message.
func (m *LogTail) Unmarshal(src []byte) error {
	*m = LogTail{}
	r := reader{src: src, subject: "LogTail"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireVarint:
			m.Tail = r.varint()
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *LogReadRequest) AppendTo(dst []byte) []byte {
	dst = appendString(dst, 1, m.RunID)
	dst = appendUint(dst, 2, m.After)
	dst = appendUint(dst, 3, m.Limit)
	return appendUint(dst, 4, m.MaxBytes)
}

// Unmarshal implements Message.
func (m *LogReadRequest) Unmarshal(src []byte) error {
	*m = LogReadRequest{}
	r := reader{src: src, subject: "LogReadRequest"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			m.RunID = r.string()
		case 2<<3 | wireVarint:
			m.After = r.varint()
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
func (m *LogPage) AppendTo(dst []byte) []byte {
	dst = appendUint(dst, 1, m.Rows)
	dst = appendBytes(dst, 2, m.Table)
	dst = appendUint(dst, 3, m.Tail)
	dst = appendUint(dst, 4, m.Dropped)
	dst = appendUint(dst, 5, m.Epoch)
	dst = appendBool(dst, 6, m.Closed)
	return appendBool(dst, 7, m.More)
}

// Unmarshal implements Message.
func (m *LogPage) Unmarshal(src []byte) error {
	*m = LogPage{}
	r := reader{src: src, subject: "LogPage"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireVarint:
			m.Rows = r.varint()
		case 2<<3 | wireBytes:
			m.Table = r.bytes()
		case 3<<3 | wireVarint:
			m.Tail = r.varint()
		case 4<<3 | wireVarint:
			m.Dropped = r.varint()
		case 5<<3 | wireVarint:
			m.Epoch = r.varint()
		case 6<<3 | wireVarint:
			m.Closed = r.bool()
		case 7<<3 | wireVarint:
			m.More = r.bool()
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *LockRequest) AppendTo(dst []byte) []byte {
	dst = appendString(dst, 1, m.Key)
	dst = appendString(dst, 2, m.Owner)
	return appendUint(dst, 3, m.TTLMS)
}

// Unmarshal implements Message.
func (m *LockRequest) Unmarshal(src []byte) error {
	*m = LockRequest{}
	r := reader{src: src, subject: "LockRequest"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			m.Key = r.string()
		case 2<<3 | wireBytes:
			m.Owner = r.string()
		case 3<<3 | wireVarint:
			m.TTLMS = r.varint()
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *LockReply) AppendTo(dst []byte) []byte {
	dst = appendBool(dst, 1, m.Acquired)
	dst = appendString(dst, 2, m.Token)
	dst = appendUint(dst, 3, m.Fence)
	dst = appendString(dst, 4, m.Owner)
	dst = appendUint(dst, 5, m.LeftMS)
	return appendUint(dst, 6, uint64(m.Now))
}

// Unmarshal implements Message.
func (m *LockReply) Unmarshal(src []byte) error {
	*m = LockReply{}
	r := reader{src: src, subject: "LockReply"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireVarint:
			m.Acquired = r.bool()
		case 2<<3 | wireBytes:
			m.Token = r.string()
		case 3<<3 | wireVarint:
			m.Fence = r.varint()
		case 4<<3 | wireBytes:
			m.Owner = r.string()
		case 5<<3 | wireVarint:
			m.LeftMS = r.varint()
		case 6<<3 | wireVarint:
			m.Now = r.int64()
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *LeaseRequest) AppendTo(dst []byte) []byte {
	dst = appendString(dst, 1, m.Key)
	dst = appendString(dst, 2, m.Token)
	return appendUint(dst, 3, m.TTLMS)
}

// Unmarshal implements Message.
func (m *LeaseRequest) Unmarshal(src []byte) error {
	*m = LeaseRequest{}
	r := reader{src: src, subject: "LeaseRequest"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			m.Key = r.string()
		case 2<<3 | wireBytes:
			m.Token = r.string()
		case 3<<3 | wireVarint:
			m.TTLMS = r.varint()
		default:
			r.skip()
		}
	}
	return r.err
}
