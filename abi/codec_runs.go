package abi

// AppendTo implements Message.
func (m *RunCreate) AppendTo(dst []byte) []byte {
	dst = appendString(dst, 1, m.RunID)
	dst = appendString(dst, 2, m.ThreadID)
	dst = appendString(dst, 3, m.Status)
	dst = appendOptionalInt(dst, 4, m.StartedAt)
	dst = appendOptionalString(dst, 5, m.SandboxKey)
	return appendBytes(dst, 6, m.Secret)
}

// Unmarshal implements Message.
func (m *RunCreate) Unmarshal(src []byte) error {
	*m = RunCreate{}
	r := reader{src: src, subject: "RunCreate"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			m.RunID = r.string()
		case 2<<3 | wireBytes:
			m.ThreadID = r.string()
		case 3<<3 | wireBytes:
			m.Status = r.string()
		case 4<<3 | wireVarint:
			v := r.int64()
			m.StartedAt = &v
		case 5<<3 | wireBytes:
			v := r.string()
			m.SandboxKey = &v
		case 6<<3 | wireBytes:
			m.Secret = r.bytes()
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *RunPatch) AppendTo(dst []byte) []byte {
	dst = appendString(dst, 1, m.RunID)
	dst = appendOptional(dst, 2, m.Epoch)
	dst = appendOptionalString(dst, 3, m.Status)
	dst = appendOptionalInt(dst, 4, m.FinishedAt)
	dst = appendOptionalString(dst, 5, m.ErrorMessage)
	dst = appendOptionalString(dst, 6, m.ErrorCode)
	dst = appendBytes(dst, 7, m.Usage)
	dst = appendOptionalString(dst, 8, m.SandboxKey)
	dst = appendOptionalInt(dst, 9, m.DetachedSince)
	dst = appendOptionalBool(dst, 10, m.CancelRequested)
	dst = appendOptional(dst, 11, m.DriverEpoch)
	for _, name := range m.Clear {
		dst = appendElement(dst, 12, name)
	}
	for _, name := range m.Now {
		dst = appendElement(dst, 13, name)
	}
	return dst
}

// Unmarshal implements Message.
func (m *RunPatch) Unmarshal(src []byte) error {
	*m = RunPatch{Clear: m.Clear[:0], Now: m.Now[:0]}
	r := reader{src: src, subject: "RunPatch"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			m.RunID = r.string()
		case 2<<3 | wireVarint:
			v := r.varint()
			m.Epoch = &v
		case 3<<3 | wireBytes:
			v := r.string()
			m.Status = &v
		case 4<<3 | wireVarint:
			v := r.int64()
			m.FinishedAt = &v
		case 5<<3 | wireBytes:
			v := r.string()
			m.ErrorMessage = &v
		case 6<<3 | wireBytes:
			v := r.string()
			m.ErrorCode = &v
		case 7<<3 | wireBytes:
			m.Usage = r.bytes()
		case 8<<3 | wireBytes:
			v := r.string()
			m.SandboxKey = &v
		case 9<<3 | wireVarint:
			v := r.int64()
			m.DetachedSince = &v
		case 10<<3 | wireVarint:
			v := r.bool()
			m.CancelRequested = &v
		case 11<<3 | wireVarint:
			v := r.varint()
			m.DriverEpoch = &v
		case 12<<3 | wireBytes:
			if r.room(len(m.Clear)) {
				m.Clear = append(m.Clear, r.string())
			}
		case 13<<3 | wireBytes:
			if r.room(len(m.Now)) {
				m.Now = append(m.Now, r.string())
			}
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *RunReply) AppendTo(dst []byte) []byte {
	dst = appendUint(dst, 1, uint64(m.Outcome))
	dst = appendUint(dst, 2, m.Rows)
	return appendBytes(dst, 3, m.Table)
}

// Unmarshal implements Message.
func (m *RunReply) Unmarshal(src []byte) error {
	*m = RunReply{}
	r := reader{src: src, subject: "RunReply"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireVarint:
			m.Outcome = RunOutcome(r.uint32())
		case 2<<3 | wireVarint:
			m.Rows = r.varint()
		case 3<<3 | wireBytes:
			m.Table = r.bytes()
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *RunListRequest) AppendTo(dst []byte) []byte {
	dst = appendString(dst, 1, m.ThreadID)
	dst = appendString(dst, 2, m.Status)
	dst = appendOptionalInt(dst, 3, m.FinishedBefore)
	dst = appendBytes(dst, 4, m.Cursor)
	return appendUint(dst, 5, m.Limit)
}

// Unmarshal implements Message.
func (m *RunListRequest) Unmarshal(src []byte) error {
	*m = RunListRequest{}
	r := reader{src: src, subject: "RunListRequest"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			m.ThreadID = r.string()
		case 2<<3 | wireBytes:
			m.Status = r.string()
		case 3<<3 | wireVarint:
			v := r.int64()
			m.FinishedBefore = &v
		case 4<<3 | wireBytes:
			m.Cursor = r.bytes()
		case 5<<3 | wireVarint:
			m.Limit = r.varint()
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *ReclaimRequest) AppendTo(dst []byte) []byte {
	dst = appendString(dst, 1, m.Status)
	dst = appendUint(dst, 2, m.TTLMS)
	dst = appendUint(dst, 3, uint64(m.Now))
	dst = appendBytes(dst, 4, m.Cursor)
	return appendUint(dst, 5, m.Limit)
}

// Unmarshal implements Message.
func (m *ReclaimRequest) Unmarshal(src []byte) error {
	*m = ReclaimRequest{}
	r := reader{src: src, subject: "ReclaimRequest"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			m.Status = r.string()
		case 2<<3 | wireVarint:
			m.TTLMS = r.varint()
		case 3<<3 | wireVarint:
			m.Now = r.int64()
		case 4<<3 | wireBytes:
			m.Cursor = r.bytes()
		case 5<<3 | wireVarint:
			m.Limit = r.varint()
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *SandboxCountRequest) AppendTo(dst []byte) []byte {
	dst = appendString(dst, 1, m.SandboxKey)
	return appendString(dst, 2, m.Except)
}

// Unmarshal implements Message.
func (m *SandboxCountRequest) Unmarshal(src []byte) error {
	*m = SandboxCountRequest{}
	r := reader{src: src, subject: "SandboxCountRequest"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			m.SandboxKey = r.string()
		case 2<<3 | wireBytes:
			m.Except = r.string()
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *Count) AppendTo(dst []byte) []byte { return appendUint(dst, 1, m.Count) }

// Unmarshal implements Message.
func (m *Count) Unmarshal(src []byte) error {
	*m = Count{}
	r := reader{src: src, subject: "Count"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireVarint:
			m.Count = r.varint()
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *RunSecret) AppendTo(dst []byte) []byte { return appendBytes(dst, 1, m.Secret) }

// Unmarshal implements Message.
func (m *RunSecret) Unmarshal(src []byte) error {
	*m = RunSecret{}
	r := reader{src: src, subject: "RunSecret"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			m.Secret = r.bytes()
		default:
			r.skip()
		}
	}
	return r.err
}
