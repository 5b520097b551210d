package egressvault

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/sdk/go/alineo"
)

// Path is where a sidecar has its vault.
const Path = "/credential-vault"

// Statuses that mean something here.
const (
	statusInvalid      = 400
	statusUnauthorized = 401
	statusForbidden    = 403
	statusNotFound     = 404
	statusConflict     = 409
	statusPrecondition = 412
	statusUpgrade      = 426
	statusInternal     = 500
	statusGateway      = 502
	statusUnavailable  = 503
)

// send asks the sidecar, again while it is starting. What it sends may be sent twice: a vault that was
// made the first time exists the second, and a change that was made has another revision.
func (v *Vault) send(egress uint64, method string, body []abi.HTTPPart) (*abi.HTTPReply, error) {
	req := abi.HTTPRequest{Endpoint: egress, URL: Path, Method: method, Body: body}
	if body != nil {
		req.Headers = []abi.HTTPHeader{alineo.Header("Content-Type", "application/json")}
	}
	var reply *abi.HTTPReply
	var err error
	for _, wait := range v.Waits {
		if wait > 0 {
			time.Sleep(wait)
		}
		if reply, err = alineo.Send(&req); again(reply, err) {
			continue
		}
		break
	}
	return reply, err
}

// again says whether a sidecar may only be starting.
func again(reply *abi.HTTPReply, err error) bool {
	if err != nil {
		return isCode(err, abi.CodeUnavailable) || isCode(err, abi.CodeUnknownOutcome)
	}
	switch reply.Status {
	case statusInternal, statusGateway, statusUnavailable, statusPrecondition:
		return true
	}
	return false
}

// failure is what an answer that is no success means, nil for one that is.
func failure(reply *abi.HTTPReply) error {
	if reply.Status >= 200 && reply.Status < 300 {
		return nil
	}
	said := said(reply)
	e := &abi.Error{Code: abi.CodeInternal, Message: "the sandbox's egress sidecar answered with status " + strconv.FormatUint(reply.Status, 10) + said}
	switch {
	case reply.Status == statusInvalid:
		e.Code, e.Message = abi.CodeInvalid, "the sandbox's egress sidecar refuses this"+said
	case reply.Status == statusUnauthorized, reply.Status == statusForbidden:
		e.Code, e.Message = abi.CodeDenied, "the sandbox's egress sidecar does not take the token that its server gave out"+said
	case reply.Status == statusNotFound:
		return noProxy("its sidecar has no credential vault")
	case reply.Status == statusConflict:
		e.Code, e.Retryable = abi.CodeConflict, true
	case reply.Status == statusPrecondition:
		return noProxy("its sidecar says" + said)
	case reply.Status == statusUpgrade:
		e.Code = abi.CodeDenied
		e.Message = "the sandbox's egress sidecar takes secrets over TLS or from its own machine only" + said +
			" (use_server_proxy = true below [sandbox] goes through the server, which is on that machine)"
	case reply.Status >= statusInternal:
		e.Code, e.Retryable = abi.CodeUnavailable, true
	}
	return e
}

// said is the sidecar's text, as the end of a message.
func said(reply *abi.HTTPReply) string {
	const most = 300
	text := strings.ToValidUTF8(strings.TrimSpace(string(reply.Body)), "?")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	if text == "" {
		return ""
	}
	return ": " + text
}

func isCode(err error, code abi.Code) bool {
	var e *abi.Error
	return errors.As(err, &e) && e.Code == code
}
