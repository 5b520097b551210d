//go:build !wasip1 && !tinygo.wasm

package alineo

import (
	"sync"

	"github.com/alineo-labs/alineo-host/abi"
)

// Host stands in for the host in tests that run a plugin as an ordinary program.
type Host interface {
	// Call answers a capability call: CodeOK and a reply message, or another code and an Error
	// message. The request is only valid until Call returns.
	Call(op abi.Op, req []byte) (status abi.Code, response []byte)
	// Log takes a log line.
	Log(level Level, line string)
}

// platform is the host as an ordinary program sees it.
type platform struct {
	attached sync.Mutex
	host     Host
	response []byte
}

// Attach makes host the host of this program until detach is called, and waits while another is
// attached. It exists only outside of WebAssembly, for tests.
func Attach(host Host) (detach func()) {
	guest.attached.Lock()
	guest.host = host
	return func() {
		guest.host = nil
		guest.attached.Unlock()
	}
}

// Dispatch calls the plugin as a host would and reads its reply; a nil request is the empty message
// and a nil reply is not read. An error that the plugin answers with is an *abi.Error. The reply views
// memory that is good until the next Dispatch. It exists only outside of WebAssembly, for tests, and
// is to be used between Attach and detach.
func Dispatch(op abi.Op, req, reply abi.Message) error {
	envelope := abi.Request{CallID: guest.envelope.CallID + 1}
	if req != nil {
		envelope.Body = req.AppendTo(nil)
	}
	request := envelope.AppendTo(nil)
	copy(guest.buffer(uint32(len(request))), request)
	body, err := abi.ParseFrame(guest.call(op, uint32(len(request))))
	if err != nil || reply == nil {
		return err
	}
	return reply.Unmarshal(body)
}

func (p *platform) call(op abi.Op, req []byte) (status abi.Code, size int) {
	if p.host == nil {
		p.response = (&abi.Error{Code: abi.CodeUnavailable, Message: "no host is attached"}).AppendTo(nil)
		return abi.CodeUnavailable, len(p.response)
	}
	status, p.response = p.host.Call(op, req)
	return status, len(p.response)
}

func (p *platform) take(dst []byte) { copy(dst, p.response) }

func (p *platform) log(level Level, line string) {
	if p.host != nil {
		p.host.Log(level, line)
	}
}
