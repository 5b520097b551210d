package abi

// AppendTo implements Message.
func (m *Source) AppendTo(dst []byte) []byte {
	dst = appendString(dst, 1, m.Type)
	dst = appendString(dst, 2, m.VarName)
	return appendString(dst, 3, m.Ref)
}

// Unmarshal implements Message.
func (m *Source) Unmarshal(src []byte) error {
	*m = Source{}
	return m.merge(src)
}

// merge reads src over what is there.
func (m *Source) merge(src []byte) error {
	r := reader{src: src, subject: "Source"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			m.Type = r.string()
		case 2<<3 | wireBytes:
			m.VarName = r.string()
		case 3<<3 | wireBytes:
			m.Ref = r.string()
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *Binding) AppendTo(dst []byte) []byte {
	dst = appendStrings(dst, 1, m.Schemes)
	dst = appendPacked(dst, 2, m.Ports)
	dst = appendStrings(dst, 3, m.Hosts)
	dst = appendStrings(dst, 4, m.Methods)
	dst = appendStrings(dst, 5, m.Paths)
	dst = appendString(dst, 6, m.Auth)
	dst = appendString(dst, 7, m.Header)
	for i := range m.Headers {
		var body int
		dst, body = begin(dst, 8)
		dst = end(m.Headers[i].AppendTo(dst), body)
	}
	for i := range m.Substitutions {
		var body int
		dst, body = begin(dst, 9)
		dst = end(m.Substitutions[i].AppendTo(dst), body)
	}
	return dst
}

// Unmarshal implements Message.
func (m *Binding) Unmarshal(src []byte) error {
	*m = Binding{Schemes: m.Schemes[:0], Ports: m.Ports[:0], Hosts: m.Hosts[:0], Methods: m.Methods[:0], Paths: m.Paths[:0], Headers: m.Headers[:0], Substitutions: m.Substitutions[:0]}
	return m.merge(src)
}

// merge reads src over what is there.
func (m *Binding) merge(src []byte) error {
	r := reader{src: src, subject: "Binding"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			m.Schemes = r.element(m.Schemes)
		case 2<<3 | wireBytes:
			m.Ports = r.packed(m.Ports)
		case 2<<3 | wireVarint:
			m.Ports = r.number(m.Ports)
		case 3<<3 | wireBytes:
			m.Hosts = r.element(m.Hosts)
		case 4<<3 | wireBytes:
			m.Methods = r.element(m.Methods)
		case 5<<3 | wireBytes:
			m.Paths = r.element(m.Paths)
		case 6<<3 | wireBytes:
			m.Auth = r.string()
		case 7<<3 | wireBytes:
			m.Header = r.string()
		case 8<<3 | wireBytes:
			if r.within(len(m.Headers), MaxSteps) {
				m.Headers = extend(m.Headers)
				r.nested(m.Headers[len(m.Headers)-1].Unmarshal(r.bytes()))
			}
		case 9<<3 | wireBytes:
			if r.within(len(m.Substitutions), MaxSteps) {
				m.Substitutions = extend(m.Substitutions)
				r.nested(m.Substitutions[len(m.Substitutions)-1].Unmarshal(r.bytes()))
			}
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *AuthHeader) AppendTo(dst []byte) []byte {
	dst = appendString(dst, 1, m.Name)
	return appendString(dst, 2, m.Credential)
}

// Unmarshal implements Message.
func (m *AuthHeader) Unmarshal(src []byte) error {
	*m = AuthHeader{}
	r := reader{src: src, subject: "AuthHeader"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			m.Name = r.string()
		case 2<<3 | wireBytes:
			m.Credential = r.string()
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *Substitution) AppendTo(dst []byte) []byte {
	dst = appendString(dst, 1, m.Placeholder)
	return appendStrings(dst, 2, m.In)
}

// Unmarshal implements Message.
func (m *Substitution) Unmarshal(src []byte) error {
	*m = Substitution{In: m.In[:0]}
	r := reader{src: src, subject: "Substitution"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			m.Placeholder = r.string()
		case 2<<3 | wireBytes:
			m.In = r.element(m.In)
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *NamedBinding) AppendTo(dst []byte) []byte {
	dst = appendString(dst, 1, m.Name)
	dst = appendNested(dst, 2, &m.Binding)
	return appendBool(dst, 3, m.Partial)
}

// Unmarshal implements Message.
func (m *NamedBinding) Unmarshal(src []byte) error {
	*m = NamedBinding{}
	r := reader{src: src, subject: "NamedBinding"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			m.Name = r.string()
		case 2<<3 | wireBytes:
			r.nested(m.Binding.merge(r.bytes()))
		case 3<<3 | wireVarint:
			m.Partial = r.bool()
		default:
			r.skip()
		}
	}
	return r.err
}
