package adapter

import (
	"errors"
	"fmt"
	"strings"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/internal/capability"
	"github.com/alineo-labs/alineo-host/host/internal/plugin"
)

func (b *Broker) brokenf(op abi.Op, format string, args ...any) error {
	return &plugin.Error{Plugin: b.guest.Name(), Op: op, Kind: plugin.KindProtocol, Sent: true, Err: fmt.Errorf(format, args...)}
}

// brokerError says what failed and which of the sentinels of package credential it is.
func brokerError(at *credential.Error, err error, call *capability.Call) error {
	kind := brokerSentinel(err)
	if trouble := call.EndpointError(); trouble != nil && kind != nil {
		err = fmt.Errorf("%w (%w)", err, trouble) // the guest was not told where the endpoint is
	}
	at.Err = err
	if kind != nil {
		at.Err = &brokerFailure{sentinel: kind, err: err}
	}
	return at
}

// brokerSentinel is what a caller branches on, nil when the broker is at fault.
func brokerSentinel(err error) error {
	if guest, ok := errors.AsType[*abi.Error](err); ok {
		switch guest.Code {
		case abi.CodeInvalid:
			return credential.ErrInvalid
		case abi.CodeNotFound:
			return credential.ErrNotFound
		case abi.CodeConflict:
			return credential.ErrConflict
		case abi.CodeDenied:
			return credential.ErrDenied
		case abi.CodeUnsupported:
			if guest.Details[abi.DetailNoProxy] == "true" {
				return credential.ErrNoProxy
			}
			return credential.ErrUnsupported
		case abi.CodeUnavailable, abi.CodeDeadline, abi.CodeResourceExhausted:
			return credential.ErrUnavailable
		case abi.CodeUnknownOutcome:
			return credential.ErrUnknownOutcome
		case abi.CodeOK, abi.CodeInternal:
		}
		return nil
	}
	failed, ok := errors.AsType[*plugin.Error](err)
	switch {
	case !ok:
		return nil
	case failed.Sent && failed.Kind != plugin.KindProtocol:
		return credential.ErrUnknownOutcome // it may have asked the sidecar already
	case plugin.IsKind(err, plugin.KindBusy, plugin.KindFailed, plugin.KindClosed, plugin.KindStart, plugin.KindDeadline, plugin.KindCanceled):
		return credential.ErrUnavailable
	}
	return nil
}

// brokerFailure is a plugin's error that also is one of package credential; its text is the plugin's.
type brokerFailure struct {
	sentinel, err error
}

func (e *brokerFailure) Error() string   { return e.err.Error() }
func (e *brokerFailure) Unwrap() []error { return []error{e.sentinel, e.err} }

// shortestValue is the length from which on a value is looked for: shorter ones are in any text.
const shortestValue = 4 // bytes

// hideValue makes sure that a value is in no text of an error, whoever put it there.
func hideValue(err error, value credential.Secret) error {
	if text := value.Reveal(); len(text) >= shortestValue && strings.Contains(err.Error(), text) {
		return &hiddenError{err: err, value: value}
	}
	return err
}

// hiddenError is an error with a secret taken out of its text.
type hiddenError struct {
	err   error
	value credential.Secret
}

func (e *hiddenError) Error() string {
	return strings.ReplaceAll(e.err.Error(), e.value.Reveal(), credential.Redacted)
}

// Is finds the sentinels, without giving the error away, whose text has the value.
func (e *hiddenError) Is(target error) bool { return errors.Is(e.err, target) }
