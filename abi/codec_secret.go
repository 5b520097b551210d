package abi

// AppendTo implements Message.
func (m *SecretGet) AppendTo(dst []byte) []byte {
	dst = appendString(dst, 1, m.Name)
	return appendBool(dst, 2, m.Kept)
}

// Unmarshal implements Message.
func (m *SecretGet) Unmarshal(src []byte) error {
	*m = SecretGet{}
	r := reader{src: src, subject: "SecretGet"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			m.Name = r.string()
		case 2<<3 | wireVarint:
			m.Kept = r.bool()
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *SecretReply) AppendTo(dst []byte) []byte {
	dst = appendUint(dst, 1, m.Secret)
	dst = appendUint(dst, 2, m.Version)
	dst = appendUint(dst, 3, m.ExpiresMS)
	return appendBytes(dst, 4, m.Note)
}

// Unmarshal implements Message.
func (m *SecretReply) Unmarshal(src []byte) error {
	*m = SecretReply{}
	r := reader{src: src, subject: "SecretReply"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireVarint:
			m.Secret = r.varint()
		case 2<<3 | wireVarint:
			m.Version = r.varint()
		case 3<<3 | wireVarint:
			m.ExpiresMS = r.varint()
		case 4<<3 | wireBytes:
			m.Note = r.bytes()
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *SecretKeep) AppendTo(dst []byte) []byte {
	dst = appendString(dst, 1, m.Name)
	dst = appendUint(dst, 2, m.Secret)
	dst = appendUint(dst, 3, m.TTLMS)
	return appendBytes(dst, 4, m.Note)
}

// Unmarshal implements Message.
func (m *SecretKeep) Unmarshal(src []byte) error {
	*m = SecretKeep{}
	r := reader{src: src, subject: "SecretKeep"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			m.Name = r.string()
		case 2<<3 | wireVarint:
			m.Secret = r.varint()
		case 3<<3 | wireVarint:
			m.TTLMS = r.varint()
		case 4<<3 | wireBytes:
			m.Note = r.bytes()
		default:
			r.skip()
		}
	}
	return r.err
}
