package alineo

import (
	"strings"

	"github.com/alineo-labs/alineo-host/abi"
)

// Level is how important a log line is.
type Level = abi.LogLevel

// Levels of log lines.
const (
	Trace = abi.LogTrace
	Debug = abi.LogDebug
	Info  = abi.LogInfo
	Warn  = abi.LogWarn
	Error = abi.LogError
)

// Log writes one line to the host's log, under the plugin's name. It never fails; the host drops
// and counts lines beyond a rate.
func Log(level Level, line string) { guest.log(level, line) }

// CallInfo says what the host told about the running call.
type CallInfo struct {
	ID          uint64 // unique within the host's life
	DeadlineMS  uint64 // milliseconds that were left when the call was made, 0 is none
	Traceparent string // W3C trace context, or empty; valid until the call's end
}

// CurrentCall returns what is known of the running call.
func CurrentCall() CallInfo {
	e := &guest.envelope
	return CallInfo{ID: e.CallID, DeadlineMS: e.DeadlineMS, Traceparent: e.Traceparent}
}

// Invoke asks the host for any operation, also for one that this SDK has no function for. The reply
// views memory that is good until the running call ends. An error of the host is an *abi.Error; a
// host that does not know the operation answers abi.CodeUnsupported.
func Invoke(op abi.Op, req, reply abi.Message) error {
	body, err := guest.invoke(op, req)
	if err != nil {
		return err
	}
	if err := reply.Unmarshal(body); err != nil {
		return garbled(op, err)
	}
	return nil
}

func garbled(op abi.Op, err error) *abi.Error {
	return &abi.Error{Code: abi.CodeInternal, Message: "answer of the host to " + op.String() + ": " + err.Error()}
}

// invoke returns the body of the host's reply, or its *abi.Error. The request is encoded before the
// host's answer is written anywhere, so it may view earlier answers.
func (g *instance) invoke(op abi.Op, req abi.Message) ([]byte, error) {
	g.request = req.AppendTo(g.request[:0])
	return g.ask(op, g.request)
}

// ask is invoke for a request that is encoded already.
func (g *instance) ask(op abi.Op, request []byte) ([]byte, error) {
	status, size := g.platform.call(op, request)
	body := g.fetch(size)
	if status == abi.CodeOK {
		return body, nil
	}
	return nil, failed(op, body)
}

// tell is ask for when an answer is of interest only if it is an error. What is left with the host costs
// no trip there.
func (g *instance) tell(op abi.Op, request []byte) error {
	status, size := g.platform.call(op, request)
	if status == abi.CodeOK {
		return nil
	}
	return failed(op, g.fetch(size))
}

// fetch takes the host's answer of so many bytes.
func (g *instance) fetch(size int) []byte {
	body := g.answers.take(size)
	if size > 0 {
		g.take(body)
	}
	return body
}

// failed reads an error of the host.
func failed(op abi.Op, body []byte) error {
	e, err := abi.ParseError(body)
	if err != nil {
		return garbled(op, err)
	}
	// Errors tend to outlive the call that they are about.
	e.Message = strings.Clone(e.Message)
	details := make(map[string]string, len(e.Details))
	for k, v := range e.Details {
		details[strings.Clone(k)] = strings.Clone(v)
	}
	e.Details = details
	return e
}
