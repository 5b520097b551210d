package abi

// AppendTo implements Message.
func (m *SQLExec) AppendTo(dst []byte) []byte {
	dst = appendString(dst, 1, m.Database)
	dst = appendBool(dst, 2, m.ReadOnly)
	for i := range m.Steps {
		var body int
		dst, body = begin(dst, 3)
		dst = end(m.Steps[i].AppendTo(dst), body)
	}
	return dst
}

// Unmarshal implements Message.
func (m *SQLExec) Unmarshal(src []byte) error {
	*m = SQLExec{Steps: m.Steps[:0]}
	params := 0
	r := reader{src: src, subject: "SQLExec"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			m.Database = r.string()
		case 2<<3 | wireVarint:
			m.ReadOnly = r.bool()
		case 3<<3 | wireBytes:
			if !r.within(len(m.Steps), MaxSteps) {
				break
			}
			m.Steps = extend(m.Steps)
			step := &m.Steps[len(m.Steps)-1]
			r.nested(step.unmarshal(r.bytes(), MaxElements-params))
			params += len(step.Params)
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *SQLStep) AppendTo(dst []byte) []byte {
	dst = appendString(dst, 1, m.SQL)
	for i := range m.Params {
		var body int
		dst, body = begin(dst, 2)
		dst = end(m.Params[i].AppendTo(dst), body)
	}
	dst = appendUint(dst, 3, m.Batch)
	dst = appendString(dst, 4, m.ManySQL)
	dst = appendUint(dst, 5, m.ManyRows)
	dst = appendOptional(dst, 6, m.Expect)
	dst = appendUint(dst, 7, uint64(m.MismatchCode))
	dst = appendString(dst, 8, m.MismatchMessage)
	dst = appendUint(dst, 9, uint64(m.Result))
	dst = appendUint(dst, 10, m.MaxRows)
	return appendUint(dst, 11, m.MaxBytes)
}

// Unmarshal implements Message.
func (m *SQLStep) Unmarshal(src []byte) error { return m.unmarshal(src, MaxElements) }

// unmarshal allows as many parameters as the program has left.
func (m *SQLStep) unmarshal(src []byte, params int) error {
	*m = SQLStep{Params: m.Params[:0]}
	r := reader{src: src, subject: "SQLStep"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			m.SQL = r.string()
		case 2<<3 | wireBytes:
			if !r.within(len(m.Params), params) {
				break
			}
			m.Params = extend(m.Params)
			r.nested(m.Params[len(m.Params)-1].Unmarshal(r.bytes()))
		case 3<<3 | wireVarint:
			m.Batch = r.varint()
		case 4<<3 | wireBytes:
			m.ManySQL = r.string()
		case 5<<3 | wireVarint:
			m.ManyRows = r.varint()
		case 6<<3 | wireVarint:
			v := r.varint()
			m.Expect = &v
		case 7<<3 | wireVarint:
			m.MismatchCode = Code(r.uint32())
		case 8<<3 | wireBytes:
			m.MismatchMessage = r.string()
		case 9<<3 | wireVarint:
			m.Result = SQLResult(r.uint32())
		case 10<<3 | wireVarint:
			m.MaxRows = r.varint()
		case 11<<3 | wireVarint:
			m.MaxBytes = r.varint()
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *SQLParam) AppendTo(dst []byte) []byte {
	dst = appendUint(dst, 1, uint64(m.Kind))
	if m.Value.Kind != KindNull {
		var body int
		dst, body = begin(dst, 2)
		dst = end(AppendValue(dst, m.Value), body)
	}
	dst = appendUint(dst, 3, uint64(m.Column))
	return appendUint(dst, 4, uint64(m.Step))
}

// Unmarshal implements Message.
func (m *SQLParam) Unmarshal(src []byte) error {
	*m = SQLParam{}
	r := reader{src: src, subject: "SQLParam"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireVarint:
			m.Kind = ParamKind(r.uint32())
		case 2<<3 | wireBytes:
			m.Value = r.value()
		case 3<<3 | wireVarint:
			m.Column = r.uint32()
		case 4<<3 | wireVarint:
			m.Step = r.uint32()
		default:
			r.skip()
		}
	}
	return r.err
}

// value reads a bytes field that holds exactly one tagged value; an empty one is null.
func (r *reader) value() Value {
	b := r.bytes()
	if len(b) == 0 {
		return Null
	}
	v, rest, err := ReadValue(b)
	if err != nil {
		r.nested(err)
		return Null
	}
	if len(rest) > 0 {
		r.fail("bytes after the value")
		return Null
	}
	return v
}

// AppendTo implements Message.
func (m *SQLExecReply) AppendTo(dst []byte) []byte {
	for i := range m.Steps {
		var body int
		dst, body = begin(dst, 1)
		dst = end(m.Steps[i].AppendTo(dst), body)
	}
	return dst
}

// Unmarshal implements Message.
func (m *SQLExecReply) Unmarshal(src []byte) error {
	*m = SQLExecReply{Steps: m.Steps[:0]}
	r := reader{src: src, subject: "SQLExecReply"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			if r.within(len(m.Steps), MaxSteps) {
				m.Steps = extend(m.Steps)
				r.nested(m.Steps[len(m.Steps)-1].Unmarshal(r.bytes()))
			}
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *SQLStepResult) AppendTo(dst []byte) []byte {
	dst = appendUint(dst, 1, m.Affected)
	dst = appendUint(dst, 2, m.RowCount)
	dst = appendBytes(dst, 3, m.Rows)
	dst = appendUint(dst, 4, m.Handle)
	dst = appendBytes(dst, 5, m.Last)
	return appendBool(dst, 6, m.More)
}

// Unmarshal implements Message.
func (m *SQLStepResult) Unmarshal(src []byte) error {
	*m = SQLStepResult{}
	r := reader{src: src, subject: "SQLStepResult"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireVarint:
			m.Affected = r.varint()
		case 2<<3 | wireVarint:
			m.RowCount = r.varint()
		case 3<<3 | wireBytes:
			m.Rows = r.bytes()
		case 4<<3 | wireVarint:
			m.Handle = r.varint()
		case 5<<3 | wireBytes:
			m.Last = r.bytes()
		case 6<<3 | wireVarint:
			m.More = r.bool()
		default:
			r.skip()
		}
	}
	return r.err
}
