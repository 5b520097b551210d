package abi

// AppendTo implements Message.
func (m *HTTPRequest) AppendTo(dst []byte) []byte {
	dst = appendUint(dst, 1, m.Endpoint)
	dst = appendString(dst, 2, m.URL)
	dst = appendString(dst, 3, m.Method)
	for i := range m.Headers {
		var body int
		dst, body = begin(dst, 4)
		dst = end(m.Headers[i].AppendTo(dst), body)
	}
	for i := range m.Body {
		var body int
		dst, body = begin(dst, 5)
		dst = end(m.Body[i].AppendTo(dst), body)
	}
	dst = appendUint(dst, 6, m.MaxBytes)
	dst = appendUint(dst, 7, m.TimeoutMS)
	dst = appendStrings(dst, 8, m.Extract)
	return appendStrings(dst, 9, m.Hide)
}

// Unmarshal implements Message.
func (m *HTTPRequest) Unmarshal(src []byte) error {
	*m = HTTPRequest{Headers: m.Headers[:0], Body: m.Body[:0], Extract: m.Extract[:0], Hide: m.Hide[:0]}
	r := reader{src: src, subject: "HTTPRequest"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireVarint:
			m.Endpoint = r.varint()
		case 2<<3 | wireBytes:
			m.URL = r.string()
		case 3<<3 | wireBytes:
			m.Method = r.string()
		case 4<<3 | wireBytes:
			if r.within(len(m.Headers), MaxSteps) {
				m.Headers = extend(m.Headers)
				r.nested(m.Headers[len(m.Headers)-1].Unmarshal(r.bytes()))
			}
		case 5<<3 | wireBytes:
			if r.within(len(m.Body), MaxSteps) {
				m.Body = extend(m.Body)
				r.nested(m.Body[len(m.Body)-1].Unmarshal(r.bytes()))
			}
		case 6<<3 | wireVarint:
			m.MaxBytes = r.varint()
		case 7<<3 | wireVarint:
			m.TimeoutMS = r.varint()
		case 8<<3 | wireBytes:
			m.Extract = r.element(m.Extract)
		case 9<<3 | wireBytes:
			m.Hide = r.element(m.Hide)
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *HTTPHeader) AppendTo(dst []byte) []byte {
	dst = appendString(dst, 1, m.Name)
	for i := range m.Value {
		var body int
		dst, body = begin(dst, 2)
		dst = end(m.Value[i].AppendTo(dst), body)
	}
	return dst
}

// Unmarshal implements Message.
func (m *HTTPHeader) Unmarshal(src []byte) error {
	*m = HTTPHeader{Value: m.Value[:0]}
	r := reader{src: src, subject: "HTTPHeader"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			m.Name = r.string()
		case 2<<3 | wireBytes:
			if r.within(len(m.Value), MaxSteps) {
				m.Value = extend(m.Value)
				r.nested(m.Value[len(m.Value)-1].Unmarshal(r.bytes()))
			}
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *HTTPPart) AppendTo(dst []byte) []byte {
	dst = appendBytes(dst, 1, m.Literal)
	dst = appendUint(dst, 2, m.Secret)
	return appendUint(dst, 3, uint64(m.Encoding))
}

// Unmarshal implements Message.
func (m *HTTPPart) Unmarshal(src []byte) error {
	*m = HTTPPart{}
	r := reader{src: src, subject: "HTTPPart"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			m.Literal = r.bytes()
		case 2<<3 | wireVarint:
			m.Secret = r.varint()
		case 3<<3 | wireVarint:
			m.Encoding = PartEncoding(r.uint32())
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *HTTPReply) AppendTo(dst []byte) []byte {
	dst = appendUint(dst, 1, m.Status)
	for i := range m.Headers {
		var body int
		dst, body = begin(dst, 2)
		dst = end(m.Headers[i].AppendTo(dst), body)
	}
	dst = appendBytes(dst, 3, m.Body)
	return appendPacked(dst, 4, m.Secrets)
}

// Unmarshal implements Message.
func (m *HTTPReply) Unmarshal(src []byte) error {
	*m = HTTPReply{Headers: m.Headers[:0], Secrets: m.Secrets[:0]}
	r := reader{src: src, subject: "HTTPReply"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireVarint:
			m.Status = r.varint()
		case 2<<3 | wireBytes:
			if r.within(len(m.Headers), MaxSteps) {
				m.Headers = extend(m.Headers)
				r.nested(m.Headers[len(m.Headers)-1].Unmarshal(r.bytes()))
			}
		case 3<<3 | wireBytes:
			m.Body = r.bytes()
		case 4<<3 | wireBytes:
			m.Secrets = r.packed(m.Secrets)
		case 4<<3 | wireVarint:
			m.Secrets = r.number(m.Secrets)
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *HTTPField) AppendTo(dst []byte) []byte {
	dst = appendString(dst, 1, m.Name)
	return appendString(dst, 2, m.Value)
}

// Unmarshal implements Message.
func (m *HTTPField) Unmarshal(src []byte) error {
	*m = HTTPField{}
	r := reader{src: src, subject: "HTTPField"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			m.Name = r.string()
		case 2<<3 | wireBytes:
			m.Value = r.string()
		default:
			r.skip()
		}
	}
	return r.err
}
