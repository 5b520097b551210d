package opensandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
)

// CodeContext is an interpreter with its state.
type CodeContext struct {
	ID       string `json:"id,omitempty"`
	Language string `json:"language,omitempty"` // python, java, javascript, typescript, go, bash or sql
	Cwd      string `json:"cwd,omitempty"`
}

// CodeRequest is code for an interpreter. Only images with a Jupyter server have any but the shell's.
type CodeRequest struct {
	// Context is which interpreter. With a language alone it is the language's default one.
	Context CodeContext
	Code    string
}

// RunCode runs code and returns its events: output, "execution_count", "result" ([Frame.Results]),
// "error" for an exception, and "execution_complete", after which there may be more until Next
// returns io.EOF. The code is sent once. When ctx ends, it is interrupted.
func (e *Execd) RunCode(ctx context.Context, req CodeRequest) (*Stream, error) {
	call := call{op: "run code", subject: e.sandboxID, to: e.target(), method: http.MethodPost, path: "/code"}
	if req.Code == "" {
		return nil, fmt.Errorf("%s: %w: there is no code", call.name(), ErrInvalid)
	}
	if err := checkPath(req.Context.Cwd); err != nil {
		return nil, fmt.Errorf("%s: %w", call.name(), err)
	}
	var err error
	call.body, err = json.Marshal(struct {
		Context CodeContext `json:"context"`
		Code    string      `json:"code"`
	}{req.Context, req.Code})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", call.name(), err)
	}
	return e.openStreamOf(ctx, call, endsAtClose)
}

// InterruptCode stops what an interpreter runs, and keeps its state. One that runs nothing is a
// success.
func (e *Execd) InterruptCode(ctx context.Context, contextID string) error {
	return e.interrupt(ctx, "interrupt code", "/code", contextID)
}

// CreateCodeContext starts an interpreter. It is sent once. Servers without a Jupyter server take
// very long to say so: the client's Timeout ends it, or ctx.
func (e *Execd) CreateCodeContext(ctx context.Context, language, cwd string) (*CodeContext, error) {
	call := call{op: "create code context", subject: language, to: e.target(), method: http.MethodPost, path: "/code/context"}
	if err := checkPath(cwd); err != nil {
		return nil, fmt.Errorf("%s: %w", call.name(), err)
	}
	var err error
	if call.body, err = json.Marshal(CodeContext{Language: language, Cwd: cwd}); err != nil {
		return nil, fmt.Errorf("%s: %w", call.name(), err)
	}
	var made CodeContext
	if err := e.c.do(ctx, call, &made); err != nil {
		return nil, err
	}
	if made.ID == "" {
		return nil, fmt.Errorf("%s: the reply names no id", call.name())
	}
	return &made, nil
}

// CodeContexts lists the interpreters of a language, or all of them.
func (e *Execd) CodeContexts(ctx context.Context, language string) ([]CodeContext, error) {
	call := e.contextsCall("list code contexts", http.MethodGet, language)
	var contexts []CodeContext
	if err := e.c.do(ctx, call, &contexts); err != nil {
		return nil, err
	}
	return contexts, nil
}

// CodeContext describes an interpreter.
func (e *Execd) CodeContext(ctx context.Context, id string) (*CodeContext, error) {
	var found CodeContext
	err := e.c.do(ctx, call{
		op: "get code context", subject: id, to: e.target(), method: http.MethodGet, idempotent: true,
		path: "/code/contexts/" + url.PathEscape(id),
	}, &found)
	if err != nil {
		return nil, err
	}
	return &found, nil
}

// DeleteCodeContext ends an interpreter. One that is gone already is a success.
func (e *Execd) DeleteCodeContext(ctx context.Context, id string) error {
	return e.deleteByID(ctx, "delete code context", "/code/contexts/", id)
}

// DeleteCodeContexts ends all interpreters of a language.
func (e *Execd) DeleteCodeContexts(ctx context.Context, language string) error {
	call := e.contextsCall("delete code contexts", http.MethodDelete, language)
	if language == "" {
		return fmt.Errorf("%s: %w: no language is named", call.name(), ErrInvalid)
	}
	return e.c.do(ctx, call, nil)
}

func (e *Execd) contextsCall(op, method, language string) call {
	call := call{op: op, subject: e.sandboxID, to: e.target(), method: method, path: "/code/contexts", idempotent: true}
	if language != "" {
		call.query = url.Values{"language": {language}}
	}
	return call
}
