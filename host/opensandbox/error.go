package opensandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// What a caller branches on. An *Error answers errors.Is for those that its status means.
var (
	// ErrNotFound: the server does not know what was named; it may have expired.
	ErrNotFound = errors.New("not found")
	// ErrConflict: the thing is in a state that does not allow the call.
	ErrConflict = errors.New("conflict")
	// ErrInvalid: the server refuses the request as it is.
	ErrInvalid = errors.New("invalid request")
	// ErrUnauthorized: the key or token is missing or wrong. Check the API key.
	ErrUnauthorized = errors.New("unauthorized")
	// ErrUnavailable: the server is overloaded or unreachable behind its proxy; try later.
	ErrUnavailable = errors.New("unavailable")
	// ErrUnsupported: this server does not have the call.
	ErrUnsupported = errors.New("unsupported")
	// ErrPrecondition: what the call stands on is not there, such as the proxy that a vault needs, or
	// not there yet.
	ErrPrecondition = errors.New("precondition failed")
	// ErrUpgradeRequired: the server takes secrets over TLS or from its own machine only. Use https, or
	// an endpoint that goes through execd.
	ErrUpgradeRequired = errors.New("a safer connection is required")
	// ErrTimeout: no answer within the client's own limit, while the caller's context still stands.
	ErrTimeout = errors.New("timed out")
	// ErrStreamLost: the event stream ended before its terminal event. The command may have ended
	// in any way, or still run; there is no exit code.
	ErrStreamLost = errors.New("event stream lost")
	// ErrLineTooLong: an event is longer than Options.MaxLine. It comes with ErrStreamLost.
	ErrLineTooLong = errors.New("event is too long")
	// ErrPTYEnded: nothing runs in the terminal session any more. Connecting would run it again.
	ErrPTYEnded = errors.New("the terminal's process has ended")
	// ErrTakenOver: somebody else connected to the terminal session. It comes with ErrStreamLost.
	ErrTakenOver = errors.New("taken over by another client")
	// ErrPath: a path that execd would expand or that names no file.
	ErrPath = errors.New("unusable path")
	// ErrIsDirectory: a directory where a file is needed.
	ErrIsDirectory = errors.New("is a directory")
)

const (
	maxErrorBody    = 64 << 10
	maxErrorMessage = 4 << 10
)

// Error is a server's refusal.
type Error struct {
	Op         string        // what was asked, such as "create sandbox"
	Subject    string        // what it was about, such as a sandbox id; may be empty
	Status     int           // HTTP status; 200 when the refusal came inside a stream
	Code       string        // the server's code, such as DOCKER::SANDBOX_NOT_FOUND; may be empty
	Message    string        // the server's words, or the status text
	RequestID  string        // X-Request-ID of the answer; may be empty
	RetryAfter time.Duration // what the server asked for; 0 when it didn't
}

// Error says what was asked, of what, and what the server answered.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.Subject != "" {
		fmt.Fprintf(&b, " %q", e.Subject)
	}
	b.WriteString(": ")
	b.WriteString(e.Message)
	details := make([]string, 0, 3)
	if e.Status != http.StatusOK {
		details = append(details, "status "+strconv.Itoa(e.Status))
	}
	if e.Code != "" {
		details = append(details, e.Code)
	}
	if e.RequestID != "" {
		details = append(details, "request "+e.RequestID)
	}
	if len(details) > 0 {
		fmt.Fprintf(&b, " (%s)", strings.Join(details, ", "))
	}
	return b.String()
}

// Is maps the status to the package's sentinels. Codes are not looked at: the same code comes with
// different statuses, and the status is what servers agree on.
func (e *Error) Is(target error) bool {
	switch e.Status {
	case http.StatusNotFound:
		return target == ErrNotFound
	case http.StatusConflict:
		return target == ErrConflict
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge:
		return target == ErrInvalid
	case http.StatusUnauthorized, http.StatusForbidden:
		return target == ErrUnauthorized
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return target == ErrUnavailable
	case http.StatusNotImplemented, http.StatusMethodNotAllowed:
		return target == ErrUnsupported
	case http.StatusPreconditionFailed:
		return target == ErrPrecondition
	case http.StatusUpgradeRequired:
		return target == ErrUpgradeRequired
	}
	return false
}

// readError turns an answer that is not a success into an *Error. It reads the body, bounded, and
// leaves closing it to the caller.
func readError(op, subject string, resp *http.Response) *Error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	code, message := decodeErrorBody(body)
	if message == "" && err != nil {
		message = fmt.Sprintf("%s; reading the reason: %v", http.StatusText(resp.StatusCode), err)
	}
	if message == "" {
		message = statusText(resp.StatusCode)
	}
	return &Error{
		Op:         op,
		Subject:    subject,
		Status:     resp.StatusCode,
		Code:       code,
		Message:    message,
		RequestID:  resp.Header.Get(headerRequestID),
		RetryAfter: parseRetryAfter(resp.Header.Get("Retry-After"), time.Now()),
	}
}

func statusText(status int) string {
	if text := http.StatusText(status); text != "" {
		return text
	}
	return "status " + strconv.Itoa(status)
}

// decodeErrorBody understands the four shapes that servers answer with: {"code","message"},
// {"error"}, {"detail": text | list | object}, and plain text. Only the first JSON value counts;
// execd is known to send two.
func decodeErrorBody(body []byte) (code, message string) {
	var object map[string]json.RawMessage
	if err := json.NewDecoder(bytes.NewReader(body)).Decode(&object); err != nil || object == nil {
		return "", clip(string(body))
	}
	code, message = text(object["code"]), text(object["message"])
	if message == "" {
		message = text(object["error"])
	}
	if detail := object["detail"]; message == "" && detail != nil {
		var detailCode string
		detailCode, message = decodeDetail(detail)
		if code == "" {
			code = detailCode
		}
	}
	if message == "" {
		message = string(body)
	}
	return clip(code), clip(message)
}

func decodeDetail(raw json.RawMessage) (code, message string) {
	if s := text(raw); s != "" {
		return "", s
	}
	var problems []struct {
		Loc []any  `json:"loc"`
		Msg string `json:"msg"`
	}
	if json.Unmarshal(raw, &problems) == nil {
		// The rejected input stands beside loc and msg. It may hold a secret: leave it out.
		parts := make([]string, 0, len(problems))
		for _, p := range problems {
			if p.Msg == "" {
				continue
			}
			where := make([]string, len(p.Loc))
			for i, l := range p.Loc {
				where[i] = fmt.Sprint(l)
			}
			parts = append(parts, strings.TrimPrefix(strings.Join(where, ".")+": "+p.Msg, ": "))
		}
		return "", strings.Join(parts, "; ")
	}
	var object struct{ Code, Message json.RawMessage }
	if json.Unmarshal(raw, &object) == nil {
		return text(object.Code), text(object.Message)
	}
	return "", ""
}

// text returns a JSON string's value, or nothing for any other value.
func text(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// clip makes a server's words fit for an error text: valid, bounded, on one line's worth of space.
func clip(s string) string {
	s = strings.TrimSpace(strings.ToValidUTF8(s, "\ufffd"))
	if len(s) <= maxErrorMessage {
		return s
	}
	cut := maxErrorMessage
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

// parseRetryAfter reads seconds or a date; anything else is no wish.
func parseRetryAfter(value string, now time.Time) time.Duration {
	if value == "" {
		return 0
	}
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}
