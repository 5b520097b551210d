package sandbox

import (
	"errors"
	"fmt"

	"github.com/alineo-labs/alineo-host/host/credential"
)

// Hooks are called as things happen, in the goroutine in which they do: be quick. Any may be nil. A
// hook that panics breaks the operation that it is called in; see [ComposeHooks].
type Hooks struct {
	SandboxCreated func(sandboxID, name string)
	SandboxFailed  func(sandboxID string, err error) // the id is empty when there was none yet
	SandboxClosed  func(sandboxID string)
	SandboxPaused  func(sandboxID string)
	SandboxResumed func(sandboxID string) // it was paused
	Checkpoint     func(sandboxID, snapshotID, name string)
	ExecStart      func(sandboxID string, seq int64, command string)
	ExecComplete   func(sandboxID string, seq int64, result *Result)
	// CredentialInjected: a credential was bound, or bound to something else. The value is nobody's
	// business. It is not called for what a resumed or forked sandbox has from the beginning.
	CredentialInjected func(sandboxID, name string, binding credential.Binding)
}

// ComposeHooks returns hooks that call each of several in order. One that panics does not disturb
// the others: report, unless it is nil, gets its error, its index among those that are not nil, and
// the name of the hook.
func ComposeHooks(report func(err error, index int, hook string), list ...*Hooks) *Hooks {
	var all []*Hooks
	for _, h := range list {
		if h != nil {
			all = append(all, h)
		}
	}
	each := func(name string, call func(*Hooks)) {
		for i, h := range all {
			if err := guard(name, func() { call(h) }); err != nil && report != nil {
				report(err, i, name)
			}
		}
	}
	return &Hooks{
		SandboxCreated: func(id, name string) { each("SandboxCreated", func(h *Hooks) { h.created(id, name) }) },
		SandboxFailed:  func(id string, err error) { each("SandboxFailed", func(h *Hooks) { h.failed(id, err) }) },
		SandboxClosed:  func(id string) { each("SandboxClosed", func(h *Hooks) { h.closed(id) }) },
		SandboxPaused:  func(id string) { each("SandboxPaused", func(h *Hooks) { h.paused(id) }) },
		SandboxResumed: func(id string) { each("SandboxResumed", func(h *Hooks) { h.unpaused(id) }) },
		Checkpoint: func(id, snapshot, name string) {
			each("Checkpoint", func(h *Hooks) { h.checkpoint(id, snapshot, name) })
		},
		ExecStart: func(id string, seq int64, command string) {
			each("ExecStart", func(h *Hooks) { h.execStart(id, seq, command) })
		},
		ExecComplete: func(id string, seq int64, result *Result) {
			each("ExecComplete", func(h *Hooks) { h.execComplete(id, seq, result) })
		},
		CredentialInjected: func(id, name string, binding credential.Binding) {
			each("CredentialInjected", func(h *Hooks) { h.credentialInjected(id, name, binding) })
		},
	}
}

// and returns hooks that call both, the other ones last. A panic breaks the operation, as theirs alone does.
func (h *Hooks) and(other *Hooks) *Hooks {
	switch {
	case h == nil:
		return other
	case other == nil:
		return h
	}
	return &Hooks{
		SandboxCreated: func(id, name string) { h.created(id, name); other.created(id, name) },
		SandboxFailed:  func(id string, err error) { h.failed(id, err); other.failed(id, err) },
		SandboxClosed:  func(id string) { h.closed(id); other.closed(id) },
		SandboxPaused:  func(id string) { h.paused(id); other.paused(id) },
		SandboxResumed: func(id string) { h.unpaused(id); other.unpaused(id) },
		Checkpoint: func(id, snapshot, name string) {
			h.checkpoint(id, snapshot, name)
			other.checkpoint(id, snapshot, name)
		},
		ExecStart: func(id string, seq int64, command string) {
			h.execStart(id, seq, command)
			other.execStart(id, seq, command)
		},
		ExecComplete: func(id string, seq int64, result *Result) {
			h.execComplete(id, seq, result)
			other.execComplete(id, seq, result)
		},
		CredentialInjected: func(id, name string, binding credential.Binding) {
			h.credentialInjected(id, name, binding)
			other.credentialInjected(id, name, binding)
		},
	}
}

// guard turns a hook's panic into an error.
func guard(name string, call func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			cause, ok := r.(error)
			if !ok {
				cause = errors.New(fmt.Sprint(r))
			}
			err = fmt.Errorf("hook %s: %w", name, cause)
		}
	}()
	call()
	return nil
}

func (h *Hooks) created(id, name string) {
	if h != nil && h.SandboxCreated != nil {
		h.SandboxCreated(id, name)
	}
}

func (h *Hooks) failed(id string, err error) {
	if h != nil && h.SandboxFailed != nil {
		h.SandboxFailed(id, err)
	}
}

func (h *Hooks) closed(id string) {
	if h != nil && h.SandboxClosed != nil {
		h.SandboxClosed(id)
	}
}

func (h *Hooks) paused(id string) {
	if h != nil && h.SandboxPaused != nil {
		h.SandboxPaused(id)
	}
}

func (h *Hooks) unpaused(id string) {
	if h != nil && h.SandboxResumed != nil {
		h.SandboxResumed(id)
	}
}

func (h *Hooks) checkpoint(id, snapshot, name string) {
	if h != nil && h.Checkpoint != nil {
		h.Checkpoint(id, snapshot, name)
	}
}

func (h *Hooks) execStart(id string, seq int64, command string) {
	if h != nil && h.ExecStart != nil {
		h.ExecStart(id, seq, command)
	}
}

func (h *Hooks) execComplete(id string, seq int64, result *Result) {
	if h != nil && h.ExecComplete != nil {
		h.ExecComplete(id, seq, result)
	}
}

func (h *Hooks) credentialInjected(id, name string, binding credential.Binding) {
	if h != nil && h.CredentialInjected != nil {
		h.CredentialInjected(id, name, binding)
	}
}
