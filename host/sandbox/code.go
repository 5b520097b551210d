package sandbox

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
)

// Exception is what code ended with, when it did not run to its end.
type Exception struct {
	Name      string
	Value     string
	Traceback []string
}

// CodeOptions says how to run code.
type CodeOptions struct {
	// Context is which interpreter, from [Handle.CreateCodeContext]. With a Language alone it is the
	// language's default one.
	Context opensandbox.CodeContext
	Timeout time.Duration // after which it is interrupted; 0: never
	// Strict makes Wait return a CommandError when the code ends with an exception.
	Strict      bool
	Events      bool // as in ExecOptions; results are among them
	ResultBytes int  // as in ExecOptions
}

// ExecCode runs code in an interpreter that keeps its state, and returns at once, like
// [Handle.Exec]. Only images with a Jupyter server have interpreters other than the shell's. Code that
// throws ends with exit code 1 and Result.Exception.
func (h *Handle) ExecCode(ctx context.Context, code string, opts CodeOptions) (*Exec, error) {
	request := opensandbox.CodeRequest{Context: opts.Context, Code: code}
	return h.begin(ctx, ExecOptions{
		Timeout: opts.Timeout, Strict: opts.Strict, Events: opts.Events, ResultBytes: opts.ResultBytes,
	}, work{
		spec:    ledger.ExecSpec{Kind: ledger.KindCode, Command: code},
		started: func(seq int64, digest string) ([]byte, error) { return startedPayload("code", code, seq, nil, digest) },
		stream: func(ctx context.Context, x *Exec) (ending, error) {
			return x.readStream(ctx, func(ctx context.Context) (*opensandbox.Stream, error) { return h.execd.RunCode(ctx, request) })
		},
	})
}

// codeEnding takes from an event what it says about the end of code. An exception is not the end:
// more may follow it.
func (x *Exec) codeEnding(ctx context.Context, frame *opensandbox.Frame, end *ending) {
	switch {
	case frame.Error != nil:
		end.known, end.exitCode = true, 1
		if code, ok := frame.Error.ExitCode(); ok {
			end.exitCode = code
		}
		end.failure = x.h.redactedException(&Exception{frame.Error.Name, frame.Error.Value, frame.Error.Traceback})
		end.blame(ctx)
	case frame.Type == opensandbox.TypeExecutionComplete:
		end.known = true
		end.blame(ctx)
	}
}

// recordedException is the last exception that the ledger has of code.
func recordedException(recorded *ledger.Exec) *Exception {
	for _, payload := range slices.Backward(recorded.Rich) {
		var told struct {
			Type  string                  `json:"type"`
			Error *opensandbox.FrameError `json:"error"`
		}
		if json.Unmarshal(payload, &told) == nil && told.Type == opensandbox.TypeError && told.Error != nil {
			return &Exception{told.Error.Name, told.Error.Value, told.Error.Traceback}
		}
	}
	return nil
}

// CreateCodeContext starts an interpreter for a language, such as python. It is not recorded.
func (h *Handle) CreateCodeContext(ctx context.Context, language, cwd string) (*opensandbox.CodeContext, error) {
	const op = "creating code context"
	if err := h.ready(); err != nil {
		return nil, h.fail(op, err)
	}
	made, err := h.execd.CreateCodeContext(ctx, language, cwd)
	if err != nil {
		return nil, h.fail(op, err)
	}
	return made, nil
}

// CodeContexts lists the interpreters of a language, or all of them.
func (h *Handle) CodeContexts(ctx context.Context, language string) ([]opensandbox.CodeContext, error) {
	const op = "listing code contexts"
	if err := h.ready(); err != nil {
		return nil, h.fail(op, err)
	}
	list, err := h.execd.CodeContexts(ctx, language)
	if err != nil {
		return nil, h.fail(op, err)
	}
	return list, nil
}

// DeleteCodeContext ends an interpreter. One that is gone already is a success.
func (h *Handle) DeleteCodeContext(ctx context.Context, id string) error {
	const op = "deleting code context"
	if err := h.ready(); err != nil {
		return h.fail(op, err)
	}
	return h.fail(op, h.execd.DeleteCodeContext(ctx, id))
}
