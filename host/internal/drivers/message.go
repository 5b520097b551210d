package drivers

import (
	"context"
	"errors"
	"time"

	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/sandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

// request is a sandbox.Change on its way.
type request struct {
	AddRules    []opensandbox.NetworkRule `json:"addRules,omitempty"`
	RemoveRules []string                  `json:"removeRules,omitempty"`
	Credential  *credentialRequest        `json:"credential,omitempty"`
}

type credentialRequest struct {
	Name    string              `json:"name"`
	Set     bool                `json:"set,omitempty"`
	Remove  bool                `json:"remove,omitempty"`
	Try     string              `json:"try,omitempty"`
	Value   *string             `json:"value,omitempty"` // itself: nobody else reads it
	Expires time.Time           `json:"expires,omitzero"`
	Binding *credential.Binding `json:"binding,omitempty"`
	Source  *credential.Source  `json:"source,omitempty"`
}

func requestOf(change sandbox.Change) request {
	r := request{AddRules: change.AddRules, RemoveRules: change.RemoveRules}
	if of := change.Credential; of != nil {
		r.Credential = &credentialRequest{
			Name: of.Name, Set: of.Set, Remove: of.Remove, Try: of.Try, Expires: of.Expires, Binding: of.Binding, Source: of.Source,
		}
		if of.Value != nil {
			value := of.Value.Reveal()
			r.Credential.Value = &value
		}
	}
	return r
}

func (r *request) change() sandbox.Change {
	change := sandbox.Change{AddRules: r.AddRules, RemoveRules: r.RemoveRules}
	if of := r.Credential; of != nil {
		change.Credential = &sandbox.CredentialChange{Name: of.Name, Set: of.Set, Remove: of.Remove, Try: of.Try, CredentialPatch: sandbox.CredentialPatch{
			Expires: of.Expires, Binding: of.Binding, Source: of.Source,
		}}
		if of.Value != nil {
			value := credential.NewSecret(*of.Value)
			change.Credential.Value = &value
		}
	}
	return change
}

// answer is what became of a request.
type answer struct {
	Status *opensandbox.PolicyStatus `json:"status,omitempty"`
	Failed bool                      `json:"failed,omitempty"`
	Error  string                    `json:"error,omitempty"`
	Is     []string                  `json:"is,omitempty"` // words of the sentinels that the error wraps
}

func answerOf(status *opensandbox.PolicyStatus, err error) answer {
	a := answer{Status: status}
	if err == nil {
		return a
	}
	a.Failed, a.Error = true, err.Error()
	for _, of := range sentinels() {
		if errors.Is(err, of.err) {
			a.Is = append(a.Is, of.word)
		}
	}
	return a
}

// failure is the error of an answer, nil for none.
func (a *answer) failure() error {
	if !a.Failed {
		return nil
	}
	err := &toldError{text: a.Error}
	for _, of := range sentinels() {
		for _, word := range a.Is {
			if word == of.word {
				err.is = append(err.is, of.err)
			}
		}
	}
	return err
}

// toldError is the error of another process.
type toldError struct {
	text string
	is   []error
}

// Error is what it said.
func (e *toldError) Error() string { return e.text }

// Unwrap returns what callers branch on.
func (e *toldError) Unwrap() []error { return e.is }

type sentinel struct {
	word string
	err  error
}

// sentinels are the errors that mean something to who asks.
func sentinels() []sentinel {
	return []sentinel{
		{"gone", sandbox.ErrDriverGone},
		{"closed", sandbox.ErrClosed},
		{"invalid", sandbox.ErrInvalid},
		{"canceled", context.Canceled},
		{"deadline", context.DeadlineExceeded},
		{"ledger.conflict", store.ErrConflict},
		{"ledger.invalid", store.ErrInvalid},
		{"ledger.unavailable", store.ErrUnavailable},
		{"ledger.unknown_outcome", store.ErrUnknownOutcome},
		{"server.not_found", opensandbox.ErrNotFound},
		{"server.conflict", opensandbox.ErrConflict},
		{"server.invalid", opensandbox.ErrInvalid},
		{"server.unauthorized", opensandbox.ErrUnauthorized},
		{"server.unavailable", opensandbox.ErrUnavailable},
		{"server.unsupported", opensandbox.ErrUnsupported},
		{"server.precondition", opensandbox.ErrPrecondition},
		{"server.timeout", opensandbox.ErrTimeout},
		{"credential.invalid", credential.ErrInvalid},
		{"credential.not_found", credential.ErrNotFound},
		{"credential.conflict", credential.ErrConflict},
		{"credential.denied", credential.ErrDenied},
		{"credential.unavailable", credential.ErrUnavailable},
		{"credential.unknown_outcome", credential.ErrUnknownOutcome},
		{"credential.unsupported", credential.ErrUnsupported},
		{"credential.no_proxy", credential.ErrNoProxy},
		{"credential.unresolved", credential.ErrUnresolved},
	}
}
