package opensandbox

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// PTYEventKind says what a [PTYEvent] is about.
type PTYEventKind uint8

// What a terminal tells.
const (
	// PTYOutput: output, of the terminal or, without one, stdout.
	PTYOutput PTYEventKind = iota + 1
	// PTYStderr: stderr of a session without a terminal.
	PTYStderr
	// PTYReplay: output from before the connection. It is for the screen, not to be recorded again.
	PTYReplay
	// PTYConnected: the connection stands, and Mode says of what kind it is. A replay comes before.
	PTYConnected
	// PTYExit: the process ended, and ExitCode says how. It is the last event.
	PTYExit
	// PTYProblem: the server could not do what was asked; Problem says why. The session goes on.
	PTYProblem

	// ptyPong answers a ping, and is no event.
	ptyPong
)

// PTYEvent is one event of a terminal. Data is valid until the next call of Next: copy what is kept.
type PTYEvent struct {
	Kind PTYEventKind
	Data []byte // of output and replay
	// Offset is where Data begins, counted in bytes from the session's first output.
	Offset int64
	// Lost is how many bytes before Data, or before the exit, nobody can get any more.
	Lost int64
	// Mode is "pty" or "pipe".
	Mode string
	// ExitCode is -1 when a signal ended the process, or the session was deleted.
	ExitCode int
	// Problem is the server's refusal.
	Problem *Error
}

// First bytes of binary frames.
const (
	ptyStdin  = 0x00
	ptyStdout = 0x01
	ptyStderr = 0x02
	ptyReplay = 0x03
)

// parsePTYBinary reads a binary frame. Kinds that later servers may have are no event.
func parsePTYBinary(frame []byte) (PTYEvent, bool, error) {
	if len(frame) == 0 {
		return PTYEvent{}, false, fmt.Errorf("%w: the server sent an empty frame", ErrStreamLost)
	}
	switch kind, data := frame[0], frame[1:]; kind {
	case ptyStdout:
		return PTYEvent{Kind: PTYOutput, Data: data}, true, nil
	case ptyStderr:
		return PTYEvent{Kind: PTYStderr, Data: data}, true, nil
	case ptyReplay:
		const offset = 8
		if len(data) < offset {
			return PTYEvent{}, false, fmt.Errorf("%w: the server sent a replay of %d bytes, and its offset alone has %d", ErrStreamLost, len(data), offset)
		}
		start := int64(binary.BigEndian.Uint64(data)) //nolint:gosec // checked next
		if start < 0 {
			return PTYEvent{}, false, fmt.Errorf("%w: the server sent a replay from offset %d", ErrStreamLost, start)
		}
		return PTYEvent{Kind: PTYReplay, Data: data[offset:], Offset: start}, true, nil
	}
	return PTYEvent{}, false, nil
}

// parsePTYText reads a text frame.
func parsePTYText(frame []byte) (PTYEvent, bool, error) {
	var fields struct {
		Type     string          `json:"type"`
		Mode     string          `json:"mode"`
		ExitCode json.RawMessage `json:"exit_code"`
		Error    json.RawMessage `json:"error"`
		Message  json.RawMessage `json:"message"`
		Code     json.RawMessage `json:"code"`
	}
	if err := json.Unmarshal(bytes.TrimSpace(frame), &fields); err != nil {
		return PTYEvent{}, false, fmt.Errorf("%w: the server sent a frame that is no JSON: %q", ErrStreamLost, excerpt(frame))
	}
	switch fields.Type {
	case "connected":
		return PTYEvent{Kind: PTYConnected, Mode: fields.Mode}, true, nil
	case "exit":
		code, err := strconv.Atoi(string(fields.ExitCode))
		if err != nil {
			return PTYEvent{}, false, fmt.Errorf("%w: the server sent an end without an exit code: %q", ErrStreamLost, excerpt(frame))
		}
		return PTYEvent{Kind: PTYExit, ExitCode: code}, true, nil
	case "pong":
		return PTYEvent{Kind: ptyPong}, false, nil
	case "error":
		problem := &Error{Status: 200, Code: clip(text(fields.Code)), Message: clip(text(fields.Error))}
		if problem.Message == "" {
			problem.Message = clip(text(fields.Message))
		}
		if problem.Message == "" {
			problem.Message = fmt.Sprintf("the server failed with code %q and no message", problem.Code)
		}
		return PTYEvent{Kind: PTYProblem, Problem: problem}, true, nil
	}
	return PTYEvent{}, false, nil // what later servers may have
}

// encodeStdin cuts input into frames and hands each to send.
func encodeStdin(input []byte, send func([]byte) error) error {
	// Servers read a frame whole before they pass it on.
	const most = 16 << 10
	frame := make([]byte, 0, min(len(input), most)+1)
	for len(input) > 0 {
		n := min(len(input), most)
		// A character in two frames is no problem to a terminal, but there is no need for it.
		for n < len(input) && n > most-utf8.UTFMax && !utf8.RuneStart(input[n]) {
			n--
		}
		frame = append(append(frame[:0], ptyStdin), input[:n]...)
		if err := send(frame); err != nil {
			return err
		}
		input = input[n:]
	}
	return nil
}
