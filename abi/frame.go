package abi

import "errors"

// The status byte that a response frame starts with.
const (
	FrameOK    byte = 0 // the operation's reply message follows
	FrameError byte = 1 // an Error message follows
)

// ErrFrame is wrapped by the error of a frame that is neither a reply nor an Error.
var ErrFrame = errors.New("abi: malformed response frame")

type frameError struct {
	reason string
	cause  error // nil, or why the Error message inside could not be read
}

func (e *frameError) Error() string { return ErrFrame.Error() + ": " + e.reason }

func (e *frameError) Unwrap() []error {
	if e.cause == nil {
		return []error{ErrFrame}
	}
	return []error{ErrFrame, e.cause}
}

// AppendOK appends a frame with a reply; a nil reply is the empty message.
func AppendOK(dst []byte, m Message) []byte {
	dst = append(dst, FrameOK)
	if m == nil {
		return dst
	}
	return m.AppendTo(dst)
}

// AppendError appends a frame with an error.
func AppendError(dst []byte, e *Error) []byte {
	return e.AppendTo(append(dst, FrameError))
}

// ParseFrame returns the reply message's bytes, a view of frame. For an error frame it returns the
// *Error, whose strings view frame too; for anything else an error that wraps ErrFrame.
func ParseFrame(frame []byte) (body []byte, err error) {
	if len(frame) == 0 {
		return nil, &frameError{reason: "it is empty"}
	}
	switch frame[0] {
	case FrameOK:
		return frame[1:], nil
	case FrameError:
		e, err := ParseError(frame[1:])
		if err != nil {
			return nil, &frameError{reason: err.Error(), cause: err}
		}
		return nil, e
	default:
		return nil, &frameError{reason: "its status byte is neither 0 nor 1"}
	}
}

// ParseError reads an Error message. A code that version 1 does not know, or no code, becomes
// CodeInternal.
func ParseError(body []byte) (*Error, error) {
	e := new(Error)
	if err := e.Unmarshal(body); err != nil {
		return nil, err
	}
	if e.Code == CodeOK || e.Code > CodeInternal {
		e.Code = CodeInternal
	}
	return e, nil
}
