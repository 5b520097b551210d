package alineo

import (
	"errors"

	"github.com/alineo-labs/alineo-host/abi"
)

// Handle does one operation: request is an abi.Request, and the response frame is appended to dst.
// The exports call it; native tests may.
func Handle(op abi.Op, request, dst []byte) (frame []byte) {
	start := len(dst)
	defer func() {
		if reason := recover(); reason != nil {
			frame = abi.AppendError(dst[:start], &abi.Error{
				Code: abi.CodeInternal, Message: "the plugin panicked in " + op.String() + ": " + panicText(reason),
			})
		}
	}()
	var req abi.Request
	if err := req.Unmarshal(request); err != nil {
		return abi.AppendError(dst, invalid(err))
	}
	if op == abi.OpEcho {
		// The body is the reply; it is copied without a message in between.
		return append(append(dst, abi.FrameOK), req.Body...)
	}
	reply, err := dispatch(op, req.Body)
	if err != nil {
		return abi.AppendError(dst, asError(err))
	}
	return abi.AppendOK(dst, reply)
}

func dispatch(op abi.Op, body []byte) (abi.Message, error) {
	switch op {
	case abi.OpDescribe:
		return &served.Manifest, nil
	case abi.OpConfigure:
		return one(body, &abi.ConfigureRequest{}, func(req *abi.ConfigureRequest) (*abi.ConfigureReply, error) {
			if served.Configure == nil {
				return &abi.ConfigureReply{}, nil
			}
			return served.Configure(req)
		})
	case abi.OpHealth:
		if served.Health == nil {
			return &abi.HealthReply{}, nil
		}
		message, err := served.Health()
		return &abi.HealthReply{Message: message}, err
	case abi.OpClose:
		if served.Close == nil {
			return nil, nil
		}
		return nil, served.Close()
	}
	if served.Ledger == nil {
		return nil, unsupported(op)
	}
	return dispatchLedger(served.Ledger, op, body)
}

func dispatchLedger(l Ledger, op abi.Op, body []byte) (abi.Message, error) {
	switch op {
	case abi.OpLedgerOpen:
		return one(body, &abi.LedgerOpenRequest{}, l.Open)
	case abi.OpLedgerAppend:
		return one(body, &abi.LedgerAppendRequest{}, l.Append)
	case abi.OpLedgerRead:
		return one(body, &abi.LedgerReadRequest{}, l.Read)
	case abi.OpLedgerLastCheckpoint:
		return one(body, &abi.LastCheckpointRequest{}, l.LastCheckpoint)
	case abi.OpLedgerListCheckpoints:
		return one(body, &abi.SandboxRequest{}, l.ListCheckpoints)
	case abi.OpLedgerListSandboxes:
		return one(body, &abi.ListSandboxesRequest{}, l.ListSandboxes)
	case abi.OpLedgerGetSandbox:
		return one(body, &abi.SandboxRequest{}, l.GetSandbox)
	case abi.OpLedgerFindSandbox:
		return one(body, &abi.FindSandboxRequest{}, l.FindSandbox)
	case abi.OpLedgerDeleteSandbox:
		return one(body, &abi.SandboxRequest{}, l.DeleteSandbox)
	case abi.OpEnvironmentGet:
		return one(body, &abi.EnvironmentRequest{}, l.GetEnvironment)
	case abi.OpEnvironmentSave:
		return none(body, &abi.Environment{}, l.SaveEnvironment)
	case abi.OpEnvironmentDelete:
		return none(body, &abi.EnvironmentRequest{}, l.DeleteEnvironment)
	case abi.OpEnvironmentList:
		return l.ListEnvironments()
	}
	return nil, unsupported(op)
}

// one decodes a request and answers it.
func one[Req, Reply abi.Message](body []byte, req Req, answer func(Req) (Reply, error)) (abi.Message, error) {
	if err := req.Unmarshal(body); err != nil {
		return nil, invalid(err)
	}
	return answer(req)
}

// none is one for an operation without a reply.
func none[Req abi.Message](body []byte, req Req, do func(Req) error) (abi.Message, error) {
	if err := req.Unmarshal(body); err != nil {
		return nil, invalid(err)
	}
	return nil, do(req)
}

func unsupported(op abi.Op) error {
	return &abi.Error{Code: abi.CodeUnsupported, Message: "this plugin does not have " + op.String()}
}

func invalid(err error) *abi.Error {
	return &abi.Error{Code: abi.CodeInvalid, Message: err.Error()}
}

func asError(err error) *abi.Error {
	var e *abi.Error
	if errors.As(err, &e) {
		return e
	}
	return &abi.Error{Code: abi.CodeInternal, Message: err.Error()}
}

func panicText(reason any) string {
	switch r := reason.(type) {
	case error:
		return r.Error()
	case string:
		return r
	default:
		return "a value that is no text"
	}
}
