package abi

// AppendTo implements Message.
func (m *KeyRequest) AppendTo(dst []byte) []byte { return appendString(dst, 1, m.Key) }

// Unmarshal implements Message.
func (m *KeyRequest) Unmarshal(src []byte) error {
	*m = KeyRequest{}
	r := reader{src: src, subject: "KeyRequest"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			m.Key = r.string()
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *Applied) AppendTo(dst []byte) []byte { return appendBool(dst, 1, m.Applied) }

// Unmarshal implements Message.
func (m *Applied) Unmarshal(src []byte) error {
	*m = Applied{}
	r := reader{src: src, subject: "Applied"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireVarint:
			m.Applied = r.bool()
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *Instance) AppendTo(dst []byte) []byte {
	dst = appendString(dst, 1, m.Key)
	dst = appendString(dst, 2, m.Provider)
	dst = appendString(dst, 3, m.ProviderSandboxID)
	dst = appendOptionalString(dst, 4, m.LatestSnapshotID)
	dst = appendString(dst, 5, m.ThreadID)
	dst = appendOptionalString(dst, 6, m.LatestRunID)
	return appendUint(dst, 7, uint64(m.UpdatedAt))
}

// Unmarshal implements Message.
func (m *Instance) Unmarshal(src []byte) error {
	*m = Instance{}
	return m.merge(src)
}

// merge is Unmarshal without the reset: protobuf merges a message field that occurs twice.
func (m *Instance) merge(src []byte) error {
	r := reader{src: src, subject: "Instance"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			m.Key = r.string()
		case 2<<3 | wireBytes:
			m.Provider = r.string()
		case 3<<3 | wireBytes:
			m.ProviderSandboxID = r.string()
		case 4<<3 | wireBytes:
			v := r.string()
			m.LatestSnapshotID = &v
		case 5<<3 | wireBytes:
			m.ThreadID = r.string()
		case 6<<3 | wireBytes:
			v := r.string()
			m.LatestRunID = &v
		case 7<<3 | wireVarint:
			m.UpdatedAt = r.int64()
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *InstancePutIf) AppendTo(dst []byte) []byte {
	start := len(dst)
	dst, body := begin(dst, 1)
	dst = endNonEmpty(m.Instance.AppendTo(dst), start, body)
	return appendOptionalString(dst, 2, m.Expected)
}

// Unmarshal implements Message.
func (m *InstancePutIf) Unmarshal(src []byte) error {
	*m = InstancePutIf{}
	r := reader{src: src, subject: "InstancePutIf"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			r.nested(m.Instance.merge(r.bytes()))
		case 2<<3 | wireBytes:
			v := r.string()
			m.Expected = &v
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *InstanceDeleteIf) AppendTo(dst []byte) []byte {
	dst = appendString(dst, 1, m.Key)
	return appendString(dst, 2, m.Expected)
}

// Unmarshal implements Message.
func (m *InstanceDeleteIf) Unmarshal(src []byte) error {
	*m = InstanceDeleteIf{}
	r := reader{src: src, subject: "InstanceDeleteIf"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			m.Key = r.string()
		case 2<<3 | wireBytes:
			m.Expected = r.string()
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *InstanceListRequest) AppendTo(dst []byte) []byte {
	dst = appendOptionalInt(dst, 1, m.UpdatedBefore)
	dst = appendBytes(dst, 2, m.Cursor)
	return appendUint(dst, 3, m.Limit)
}

// Unmarshal implements Message.
func (m *InstanceListRequest) Unmarshal(src []byte) error {
	*m = InstanceListRequest{}
	r := reader{src: src, subject: "InstanceListRequest"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireVarint:
			v := r.int64()
			m.UpdatedBefore = &v
		case 2<<3 | wireBytes:
			m.Cursor = r.bytes()
		case 3<<3 | wireVarint:
			m.Limit = r.varint()
		default:
			r.skip()
		}
	}
	return r.err
}
