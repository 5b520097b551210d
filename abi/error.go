package abi

// Code says what kind of failure an Error is. Zero is not a failure.
type Code uint32

// The codes of version 1. A guest that answers another number is answered for with CodeInternal.
const (
	CodeOK                Code = 0
	CodeInvalid           Code = 1  // the request is wrong; the same request fails again
	CodeNotFound          Code = 2  // what the request names does not exist
	CodeConflict          Code = 3  // what is there is not what the request expected
	CodeDenied            Code = 4  // not granted, or refused by the other side
	CodeUnsupported       Code = 5  // the operation is unknown to the receiver
	CodeUnavailable       Code = 6  // nothing was done; the same request may succeed later
	CodeUnknownOutcome    Code = 7  // it may or may not have been done
	CodeResourceExhausted Code = 8  // a limit was reached
	CodeDeadline          Code = 9  // time ran out and nothing was done
	CodeInternal          Code = 10 // a fault of the receiver
)

var codeNames = [...]string{
	"ok", "invalid", "not_found", "conflict", "denied", "unsupported", "unavailable",
	"unknown_outcome", "resource_exhausted", "deadline", "internal",
}

// String returns the code's name in ABI.md; an unknown code is "internal".
func (c Code) String() string {
	if int(c) < len(codeNames) {
		return codeNames[c]
	}
	return codeNames[CodeInternal]
}

// Well-known keys of Error.Details.
const (
	DetailEntry   = "entry"   // decimal index of the entry of a batch that was refused
	DetailSegment = "segment" // decimal index of the segment of a batch that was refused
	DetailStep    = "step"    // decimal index of the SQL step that failed
	DetailRow     = "row"     // decimal index of the batch row that the SQL step failed at
	DetailKey     = "key"     // configuration key that is wrong
	// DetailNoProxy is "true" when a sandbox was made without a place for credentials.
	DetailNoProxy = "no_proxy"
	DetailTail    = "tail"   // decimal offset of the last event of a log that refused an append
	DetailEpoch   = "epoch"  // decimal, highest epoch that the log has seen
	DetailClosed  = "closed" // "1": the log is closed
)

// Error is the one error that crosses the ABI, in both directions.
type Error struct {
	Code      Code
	Message   string
	Retryable bool
	Details   map[string]string
}

// Error returns "code: message".
func (e *Error) Error() string {
	return e.Code.String() + ": " + e.Message
}
