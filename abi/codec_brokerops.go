package abi

// AppendTo implements Message.
func (m *BrokerSetRequest) AppendTo(dst []byte) []byte {
	dst = appendString(dst, 1, m.SandboxID)
	dst = appendString(dst, 2, m.Name)
	dst = appendUint(dst, 3, m.Egress)
	dst = appendUint(dst, 4, m.Value)
	return appendNested(dst, 5, &m.Binding)
}

// Unmarshal implements Message.
func (m *BrokerSetRequest) Unmarshal(src []byte) error {
	*m = BrokerSetRequest{}
	r := reader{src: src, subject: "BrokerSetRequest"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			m.SandboxID = r.string()
		case 2<<3 | wireBytes:
			m.Name = r.string()
		case 3<<3 | wireVarint:
			m.Egress = r.varint()
		case 4<<3 | wireVarint:
			m.Value = r.varint()
		case 5<<3 | wireBytes:
			r.nested(m.Binding.merge(r.bytes()))
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *BrokerPatchRequest) AppendTo(dst []byte) []byte {
	dst = appendString(dst, 1, m.SandboxID)
	dst = appendString(dst, 2, m.Name)
	dst = appendUint(dst, 3, m.Egress)
	dst = appendUint(dst, 4, m.Value)
	return appendNested(dst, 5, &m.Binding)
}

// Unmarshal implements Message.
func (m *BrokerPatchRequest) Unmarshal(src []byte) error {
	*m = BrokerPatchRequest{}
	r := reader{src: src, subject: "BrokerPatchRequest"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			m.SandboxID = r.string()
		case 2<<3 | wireBytes:
			m.Name = r.string()
		case 3<<3 | wireVarint:
			m.Egress = r.varint()
		case 4<<3 | wireVarint:
			m.Value = r.varint()
		case 5<<3 | wireBytes:
			r.nested(m.Binding.merge(r.bytes()))
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *BrokerRemoveRequest) AppendTo(dst []byte) []byte {
	dst = appendString(dst, 1, m.SandboxID)
	dst = appendString(dst, 2, m.Name)
	return appendUint(dst, 3, m.Egress)
}

// Unmarshal implements Message.
func (m *BrokerRemoveRequest) Unmarshal(src []byte) error {
	*m = BrokerRemoveRequest{}
	r := reader{src: src, subject: "BrokerRemoveRequest"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			m.SandboxID = r.string()
		case 2<<3 | wireBytes:
			m.Name = r.string()
		case 3<<3 | wireVarint:
			m.Egress = r.varint()
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *BrokerListRequest) AppendTo(dst []byte) []byte {
	dst = appendString(dst, 1, m.SandboxID)
	return appendUint(dst, 2, m.Egress)
}

// Unmarshal implements Message.
func (m *BrokerListRequest) Unmarshal(src []byte) error {
	*m = BrokerListRequest{}
	r := reader{src: src, subject: "BrokerListRequest"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			m.SandboxID = r.string()
		case 2<<3 | wireVarint:
			m.Egress = r.varint()
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *BrokerListReply) AppendTo(dst []byte) []byte {
	for i := range m.Bindings {
		var body int
		dst, body = begin(dst, 1)
		dst = end(m.Bindings[i].AppendTo(dst), body)
	}
	return dst
}

// Unmarshal implements Message.
func (m *BrokerListReply) Unmarshal(src []byte) error {
	*m = BrokerListReply{Bindings: m.Bindings[:0]}
	r := reader{src: src, subject: "BrokerListReply"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			if r.within(len(m.Bindings), MaxSteps) {
				m.Bindings = extend(m.Bindings)
				r.nested(m.Bindings[len(m.Bindings)-1].Unmarshal(r.bytes()))
			}
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *BrokerResolveRequest) AppendTo(dst []byte) []byte {
	dst = appendString(dst, 1, m.SandboxID)
	dst = appendString(dst, 2, m.Name)
	return appendNested(dst, 3, &m.Source)
}

// Unmarshal implements Message.
func (m *BrokerResolveRequest) Unmarshal(src []byte) error {
	*m = BrokerResolveRequest{}
	r := reader{src: src, subject: "BrokerResolveRequest"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			m.SandboxID = r.string()
		case 2<<3 | wireBytes:
			m.Name = r.string()
		case 3<<3 | wireBytes:
			r.nested(m.Source.merge(r.bytes()))
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *BrokerResolveReply) AppendTo(dst []byte) []byte {
	dst = appendUint(dst, 1, m.Value)
	return appendUint(dst, 2, m.ExpiresMS)
}

// Unmarshal implements Message.
func (m *BrokerResolveReply) Unmarshal(src []byte) error {
	*m = BrokerResolveReply{}
	r := reader{src: src, subject: "BrokerResolveReply"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireVarint:
			m.Value = r.varint()
		case 2<<3 | wireVarint:
			m.ExpiresMS = r.varint()
		default:
			r.skip()
		}
	}
	return r.err
}
