package abi

// AppendTo implements Message.
func (m *SandboxRequest) AppendTo(dst []byte) []byte { return appendKey(dst, &m.Key) }

// Unmarshal implements Message.
func (m *SandboxRequest) Unmarshal(src []byte) error {
	*m = SandboxRequest{}
	r := reader{src: src, subject: "SandboxRequest"}
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
func (m *FindSandboxRequest) AppendTo(dst []byte) []byte { return appendString(dst, 1, m.SandboxID) }

// Unmarshal implements Message.
func (m *FindSandboxRequest) Unmarshal(src []byte) error {
	*m = FindSandboxRequest{}
	r := reader{src: src, subject: "FindSandboxRequest"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			m.SandboxID = r.string()
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *ListSandboxesRequest) AppendTo(dst []byte) []byte {
	dst = appendString(dst, 1, m.Name)
	dst = appendString(dst, 2, m.Status)
	dst = appendOptional(dst, 3, m.Limit)
	if m.Before != nil {
		dst = appendVarint(appendTag(dst, 4, wireVarint), uint64(*m.Before))
	}
	dst = appendString(dst, 5, m.RunID)
	dst = appendString(dst, 6, m.ResourceID)
	dst = appendString(dst, 7, m.TeamID)
	dst = appendBytes(dst, 8, m.Cursor)
	return appendString(dst, 9, m.IDPrefix)
}

// Unmarshal implements Message.
func (m *ListSandboxesRequest) Unmarshal(src []byte) error {
	*m = ListSandboxesRequest{}
	r := reader{src: src, subject: "ListSandboxesRequest"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			m.Name = r.string()
		case 2<<3 | wireBytes:
			m.Status = r.string()
		case 3<<3 | wireVarint:
			v := r.varint()
			m.Limit = &v
		case 4<<3 | wireVarint:
			v := r.int64()
			m.Before = &v
		case 5<<3 | wireBytes:
			m.RunID = r.string()
		case 6<<3 | wireBytes:
			m.ResourceID = r.string()
		case 7<<3 | wireBytes:
			m.TeamID = r.string()
		case 8<<3 | wireBytes:
			m.Cursor = r.bytes()
		case 9<<3 | wireBytes:
			m.IDPrefix = r.string()
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *DeleteReply) AppendTo(dst []byte) []byte {
	return appendBool(appendUint(dst, 1, m.Rows), 2, m.More)
}

// Unmarshal implements Message.
func (m *DeleteReply) Unmarshal(src []byte) error {
	*m = DeleteReply{}
	r := reader{src: src, subject: "DeleteReply"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireVarint:
			m.Rows = r.varint()
		case 2<<3 | wireVarint:
			m.More = r.bool()
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *EnvironmentRequest) AppendTo(dst []byte) []byte { return appendString(dst, 1, m.Name) }

// Unmarshal implements Message.
func (m *EnvironmentRequest) Unmarshal(src []byte) error {
	*m = EnvironmentRequest{}
	r := reader{src: src, subject: "EnvironmentRequest"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			m.Name = r.string()
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *Environment) AppendTo(dst []byte) []byte {
	dst = appendString(dst, 1, m.Name)
	dst = appendString(dst, 2, m.SnapshotID)
	dst = appendString(dst, 3, m.Image)
	return appendUint(dst, 4, uint64(m.BuiltAt))
}

// Unmarshal implements Message.
func (m *Environment) Unmarshal(src []byte) error {
	*m = Environment{}
	r := reader{src: src, subject: "Environment"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			m.Name = r.string()
		case 2<<3 | wireBytes:
			m.SnapshotID = r.string()
		case 3<<3 | wireBytes:
			m.Image = r.string()
		case 4<<3 | wireVarint:
			m.BuiltAt = r.int64()
		default:
			r.skip()
		}
	}
	return r.err
}
