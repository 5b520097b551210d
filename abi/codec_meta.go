package abi

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Empty is the message without fields: the request or reply of operations that need none.
type Empty struct{}

// AppendTo appends nothing.
func (*Empty) AppendTo(dst []byte) []byte { return dst }

// Unmarshal checks that src is a message and ignores its fields.
func (*Empty) Unmarshal(src []byte) error {
	r := reader{src: src, subject: "Empty"}
	for r.next() {
		r.skip()
	}
	return r.err
}

// Raw is a body that is passed on as it is: OpEcho's request and reply, or a message in its wire
// form.
type Raw []byte

// AppendTo appends the bytes.
func (m *Raw) AppendTo(dst []byte) []byte { return append(dst, *m...) }

// Unmarshal makes m a view of src.
func (m *Raw) Unmarshal(src []byte) error {
	*m = src
	return nil
}

// AppendTo implements Message.
func (m *Request) AppendTo(dst []byte) []byte {
	dst = appendUint(dst, 1, m.CallID)
	dst = appendUint(dst, 2, m.DeadlineMS)
	dst = appendString(dst, 3, m.Traceparent)
	return appendBytes(dst, 4, m.Body)
}

// Unmarshal implements Message.
func (m *Request) Unmarshal(src []byte) error {
	*m = Request{}
	r := reader{src: src, subject: "Request"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireVarint:
			m.CallID = r.varint()
		case 2<<3 | wireVarint:
			m.DeadlineMS = r.varint()
		case 3<<3 | wireBytes:
			m.Traceparent = r.string()
		case 4<<3 | wireBytes:
			m.Body = r.bytes()
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *Manifest) AppendTo(dst []byte) []byte {
	dst = appendString(dst, 1, m.Name)
	dst = appendString(dst, 2, m.Version)
	for _, v := range m.Kinds {
		dst = appendElement(dst, 3, v)
	}
	for _, v := range m.Optional {
		dst = appendElement(dst, 4, v)
	}
	for i := range m.Capabilities {
		var body int
		dst, body = begin(dst, 5)
		dst = end(m.Capabilities[i].AppendTo(dst), body)
	}
	dst = appendString(dst, 6, m.ConfigSchema)
	return appendUint(dst, 7, uint64(m.State))
}

// Unmarshal implements Message.
func (m *Manifest) Unmarshal(src []byte) error {
	*m = Manifest{Kinds: m.Kinds[:0], Optional: m.Optional[:0], Capabilities: m.Capabilities[:0]}
	r := reader{src: src, subject: "Manifest"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			m.Name = r.string()
		case 2<<3 | wireBytes:
			m.Version = r.string()
		case 3<<3 | wireBytes:
			if r.room(len(m.Kinds)) {
				m.Kinds = append(m.Kinds, r.string())
			}
		case 4<<3 | wireBytes:
			if r.room(len(m.Optional)) {
				m.Optional = append(m.Optional, r.string())
			}
		case 5<<3 | wireBytes:
			if r.room(len(m.Capabilities)) {
				m.Capabilities = extend(m.Capabilities)
				r.nested(m.Capabilities[len(m.Capabilities)-1].Unmarshal(r.bytes()))
			}
		case 6<<3 | wireBytes:
			m.ConfigSchema = r.string()
		case 7<<3 | wireVarint:
			m.State = GuestState(r.uint32())
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *Want) AppendTo(dst []byte) []byte {
	dst = appendString(dst, 1, m.Name)
	dst = appendString(dst, 2, m.Resource)
	dst = appendString(dst, 3, m.Reason)
	return appendBool(dst, 4, m.Optional)
}

// Unmarshal implements Message.
func (m *Want) Unmarshal(src []byte) error {
	*m = Want{}
	r := reader{src: src, subject: "Want"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			m.Name = r.string()
		case 2<<3 | wireBytes:
			m.Resource = r.string()
		case 3<<3 | wireBytes:
			m.Reason = r.string()
		case 4<<3 | wireVarint:
			m.Optional = r.bool()
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *ConfigureRequest) AppendTo(dst []byte) []byte {
	dst = appendString(dst, 1, m.Config)
	dst = appendString(dst, 2, m.HostVersion)
	for _, v := range m.Features {
		dst = appendElement(dst, 3, v)
	}
	return dst
}

// Unmarshal implements Message.
func (m *ConfigureRequest) Unmarshal(src []byte) error {
	*m = ConfigureRequest{Features: m.Features[:0]}
	r := reader{src: src, subject: "ConfigureRequest"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			m.Config = r.string()
		case 2<<3 | wireBytes:
			m.HostVersion = r.string()
		case 3<<3 | wireBytes:
			if r.room(len(m.Features)) {
				m.Features = append(m.Features, r.string())
			}
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *Diagnostic) AppendTo(dst []byte) []byte {
	return appendString(appendString(dst, 1, m.Key), 2, m.Message)
}

// Unmarshal implements Message.
func (m *Diagnostic) Unmarshal(src []byte) error {
	*m = Diagnostic{}
	r := reader{src: src, subject: "Diagnostic"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			m.Key = r.string()
		case 2<<3 | wireBytes:
			m.Message = r.string()
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *ConfigureReply) AppendTo(dst []byte) []byte {
	for i := range m.Diagnostics {
		var body int
		dst, body = begin(dst, 1)
		dst = end(m.Diagnostics[i].AppendTo(dst), body)
	}
	return dst
}

// Unmarshal implements Message.
func (m *ConfigureReply) Unmarshal(src []byte) error {
	*m = ConfigureReply{Diagnostics: m.Diagnostics[:0]}
	r := reader{src: src, subject: "ConfigureReply"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			if r.room(len(m.Diagnostics)) {
				m.Diagnostics = extend(m.Diagnostics)
				r.nested(m.Diagnostics[len(m.Diagnostics)-1].Unmarshal(r.bytes()))
			}
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message.
func (m *HealthReply) AppendTo(dst []byte) []byte { return appendString(dst, 1, m.Message) }

// Unmarshal implements Message.
func (m *HealthReply) Unmarshal(src []byte) error {
	*m = HealthReply{}
	r := reader{src: src, subject: "HealthReply"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			m.Message = r.string()
		default:
			r.skip()
		}
	}
	return r.err
}

// AppendTo implements Message. Text that is not UTF-8 is repaired: an error often quotes another
// program's words, and must arrive all the same.
func (e *Error) AppendTo(dst []byte) []byte {
	dst = appendUint(dst, 1, uint64(e.Code))
	dst = appendString(dst, 2, validText(e.Message))
	dst = appendBool(dst, 3, e.Retryable)
	if len(e.Details) == 0 {
		return dst
	}
	keys := make([]string, 0, len(e.Details))
	for k := range e.Details {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		var body int
		dst, body = begin(dst, 4)
		dst = appendElement(dst, 1, validText(k))
		dst = appendElement(dst, 2, validText(e.Details[k]))
		dst = end(dst, body)
	}
	return dst
}

func validText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// Unmarshal implements Message.
func (e *Error) Unmarshal(src []byte) error {
	*e = Error{}
	r := reader{src: src, subject: "Error"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireVarint:
			e.Code = Code(r.uint32())
		case 2<<3 | wireBytes:
			e.Message = r.string()
		case 3<<3 | wireVarint:
			e.Retryable = r.bool()
		case 4<<3 | wireBytes:
			if r.room(len(e.Details)) {
				r.nested(e.detail(r.bytes()))
			}
		default:
			r.skip()
		}
	}
	return r.err
}

// detail adds one map entry; of two with the same key the later wins, as in protobuf.
func (e *Error) detail(src []byte) error {
	var key, value string
	r := reader{src: src, subject: "Error.details"}
	for r.next() {
		switch r.tag {
		case 1<<3 | wireBytes:
			key = r.string()
		case 2<<3 | wireBytes:
			value = r.string()
		default:
			r.skip()
		}
	}
	if r.err != nil {
		return r.err
	}
	if e.Details == nil {
		e.Details = make(map[string]string)
	}
	e.Details[key] = value
	return nil
}
