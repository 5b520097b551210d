package opensandbox

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Types of events. Servers have others; they pass through unchanged.
const (
	TypeInit              = "init"
	TypePing              = "ping"
	TypeStatus            = "status"
	TypeStdout            = "stdout"
	TypeStderr            = "stderr"
	TypeResult            = "result"
	TypeError             = "error"
	TypeExecutionCount    = "execution_count"
	TypeExecutionComplete = "execution_complete"
)

// Frame is one event of a stream. It is valid until the next call to Next: copy what is kept.
type Frame struct {
	// Raw is the event's JSON object exactly as it came, valid JSON and UTF-8, without a line end.
	Raw []byte
	// Type is the event's type, empty when it has none.
	Type string
	// Timestamp is the server's clock in Unix milliseconds, 0 when the event has none.
	Timestamp int64
	// Error is what an event of type "error" tells.
	Error *FrameError
	// Failure is set for an event without a type that reports a failure of the server instead of
	// the command's end. It is the last event, and what Next returns after it.
	Failure *Error

	text    []byte // between the quotes, as it came
	textAt  int    // where text is in Raw
	escaped bool   // text has escapes
}

// FrameError says how a command ended that did not exit with 0.
type FrameError struct {
	Name      string   `json:"ename"`
	Value     string   `json:"evalue"`
	Traceback []string `json:"traceback"`
}

// ExitCode returns the command's exit code, -1 when a signal or the timeout ended it, and false
// when the event does not tell: the command could not be started.
func (e *FrameError) ExitCode() (int, bool) {
	code, err := strconv.Atoi(e.Value)
	return code, err == nil
}

// Results returns what an event of type "result" holds, by MIME type; execd calls text/plain "text".
// Values are any JSON. It is nil for other events.
func (f *Frame) Results() map[string]json.RawMessage {
	var fields struct {
		Results map[string]json.RawMessage `json:"results"`
	}
	if f.Type != TypeResult || json.Unmarshal(f.Raw, &fields) != nil {
		return nil
	}
	return fields.Results
}

// ExecutionCount returns what an event of type "execution_count" tells, and 0 for other events.
func (f *Frame) ExecutionCount() int { return int(f.number("execution_count")) }

// ExecutionTime returns how long a command or code ran, as the server measured it; 0 when the event
// does not tell.
func (f *Frame) ExecutionTime() time.Duration {
	return time.Duration(f.number("execution_time")) * time.Millisecond
}

func (f *Frame) number(field string) int64 {
	var fields map[string]json.RawMessage
	if json.Unmarshal(f.Raw, &fields) != nil {
		return 0
	}
	n, err := strconv.ParseInt(string(fields[field]), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// Terminal reports whether the command ended with this event. Code goes on after an "error": its end
// is "execution_complete", and then the stream's.
func (f *Frame) Terminal() bool {
	return f.Type == TypeExecutionComplete || f.Type == TypeError
}

// HasText reports whether the event has a text that isn't empty.
func (f *Frame) HasText() bool { return len(f.text) > 0 }

// TextAt returns where in Raw the text stands between its quotes, 0 and 0 when there is none, and
// whether it is there as it is, without escapes: then a copy of Raw is one of the text as well.
func (f *Frame) TextAt() (from, to int, plain bool) {
	return f.textAt, f.textAt + len(f.text), !f.escaped
}

// AppendText appends the event's text to dst.
func (f *Frame) AppendText(dst []byte) []byte {
	if !f.escaped {
		return append(dst, f.text...)
	}
	return appendUnescaped(dst, f.text)
}

// Text returns the event's text.
func (f *Frame) Text() string {
	if !f.escaped {
		return string(f.text)
	}
	return string(f.AppendText(make([]byte, 0, len(f.text))))
}

// parseFrame reads one line of a stream, which must be a JSON object.
func parseFrame(line []byte, f *Frame) error {
	*f = Frame{Raw: line}
	s := scanner{src: line}
	var code, message, failure span
	err := s.object(func(key []byte, value span) {
		switch string(key) {
		case "type":
			f.Type = ""
			if value.kind == kindString {
				f.Type = internType(value)
			}
		case "text":
			f.text, f.textAt, f.escaped = nil, 0, false
			if value.kind == kindString {
				f.text, f.textAt, f.escaped = value.content(), s.at-len(value.raw)+1, value.escaped
			}
		case "timestamp":
			f.Timestamp = 0
			if value.kind == kindNumber {
				f.Timestamp, _ = strconv.ParseInt(string(value.raw), 10, 64)
			}
		case "error":
			failure = value
		case "code":
			code = value
		case "message":
			message = value
		}
	})
	if err != nil {
		return err
	}
	switch f.Type {
	case TypeError:
		f.Error = parseFrameError(failure)
	case "":
		f.Failure = parseFailure(code, message, failure)
	}
	return nil
}

// internType spares the allocation for the types that are known.
func internType(value span) string {
	switch string(value.content()) {
	case TypeStdout:
		return TypeStdout
	case TypeStderr:
		return TypeStderr
	case TypePing:
		return TypePing
	case TypeInit:
		return TypeInit
	case TypeExecutionComplete:
		return TypeExecutionComplete
	case TypeError:
		return TypeError
	case TypeStatus:
		return TypeStatus
	case TypeResult:
		return TypeResult
	case TypeExecutionCount:
		return TypeExecutionCount
	}
	return value.text()
}

// parseFrameError takes what it can get: an end is an end, however badly it is described.
func parseFrameError(value span) *FrameError {
	e := new(FrameError)
	if value.kind == kindString {
		e.Value = value.text()
		return e
	}
	if value.kind != kindObject {
		return e
	}
	var fields struct {
		Name      json.RawMessage `json:"ename"`
		Value     json.RawMessage `json:"evalue"`
		Traceback json.RawMessage `json:"traceback"`
	}
	if json.Unmarshal(value.raw, &fields) != nil {
		return e
	}
	e.Name = text(fields.Name)
	e.Value = text(fields.Value)
	if e.Value == "" && len(fields.Value) > 0 && (fields.Value[0] == '-' || fields.Value[0] >= '0' && fields.Value[0] <= '9') {
		e.Value = string(fields.Value)
	}
	_ = json.Unmarshal(fields.Traceback, &e.Traceback) // absent, null or of another shape: none
	return e
}

// parseFailure recognises {"code","message"}, which servers put into a stream when they fail after
// its first event, and {"error"}, their other shape.
func parseFailure(code, message, failure span) *Error {
	if code.kind != kindString && message.kind != kindString && failure.kind != kindString {
		return nil
	}
	e := &Error{Status: http.StatusOK, Code: clip(code.text()), Message: clip(message.text())}
	if e.Message == "" {
		e.Message = clip(failure.text())
	}
	if e.Message == "" {
		e.Message = fmt.Sprintf("the server failed with code %q and no message", e.Code)
	}
	return e
}
