package postgres

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/alineo-labs/alineo-host/abi"
)

// Sentences for what an operator can do something about. They go to guests too, so they name no
// server, role or database.
const (
	sentenceClosed    = "the database is closed"
	sentenceConnect   = "the database server can't be reached"
	sentenceRefused   = "the database server refuses the role or its password"
	sentenceNoDB      = "the database does not exist on the server"
	sentenceStarting  = "the database server is starting or shutting down"
	sentenceTooMany   = "the database server has no connection left"
	sentenceTLS       = "the database server can't be reached with the TLS settings that were asked for"
	sentenceLost      = "the connection to the database was lost before the commit; nothing was done"
	sentenceFull      = "the database server's disk is full"
	sentenceMemory    = "the database server ran out of memory"
	sentenceStandby   = "the database server accepts no writes (it is a standby, or read-only)"
	sentenceNoTLS     = "the database server does not speak TLS, which sslmode asks for"
	sentenceCA        = "the database server's certificate is not signed by an authority that sslrootcert (or the system) trusts"
	sentenceName      = "the database server's certificate is for another name than the host that was asked for"
	sentenceEncoding  = "the database does not store text as UTF8; make one that does (createdb --encoding UTF8 --template template0)"
	sentenceSuperuser = "the database role is a superuser, or may run programs or use files on the server; give the plugin a role of its own, or set allow_superuser = true"
	sentenceNUL       = "a text has a NUL or bytes that are not UTF-8, which PostgreSQL can't hold"
)

func newError(code abi.Code, message string) *abi.Error {
	return &abi.Error{Code: code, Message: message, Retryable: code == abi.CodeUnavailable}
}

// translate gives an error of the server the form that guests know.
func translate(e *pgconn.PgError) *abi.Error {
	switch e.Code {
	case "23502", "23514", "23000", "23001": // NOT NULL, CHECK and constraints without a name
		return newError(abi.CodeInvalid, e.Message)
	case "22021", "22P05":
		return newError(abi.CodeInvalid, sentenceNUL)
	case "40003":
		return newError(abi.CodeUnknownOutcome, e.Message)
	case "57014":
		if strings.Contains(e.Message, "statement timeout") {
			return &abi.Error{Code: abi.CodeDeadline, Message: "the statement took longer than the database allows; nothing was done", Retryable: true}
		}
		return newError(abi.CodeUnavailable, "the statement was cancelled on the server")
	case "53100":
		return newError(abi.CodeUnavailable, sentenceFull)
	case "53200":
		return newError(abi.CodeUnavailable, sentenceMemory)
	case "53300":
		return newError(abi.CodeUnavailable, sentenceTooMany)
	case "25006":
		return newError(abi.CodeUnavailable, sentenceStandby)
	case "25P03":
		return newError(abi.CodeUnavailable, sentenceLost)
	case "3D000":
		return newError(abi.CodeUnavailable, sentenceNoDB)
	case "42501":
		return newError(abi.CodeDenied, e.Message)
	case "55006", "55P03":
		return newError(abi.CodeUnavailable, e.Message)
	}
	switch class := e.Code[:min(2, len(e.Code))]; class {
	case "23":
		return newError(abi.CodeConflict, e.Message)
	case "40", "53", "58":
		return newError(abi.CodeUnavailable, e.Message)
	case "08":
		return newError(abi.CodeUnavailable, sentenceLost)
	case "57":
		return newError(abi.CodeUnavailable, sentenceStarting)
	case "28":
		return newError(abi.CodeDenied, sentenceRefused)
	case "2D":
		return newError(abi.CodeDenied, e.Message)
	case "0A", "20", "21", "22", "25", "2B", "2F", "34", "38", "39", "3B", "3F", "42", "44", "54", "55", "P0":
		return newError(abi.CodeInvalid, e.Message)
	default:
		return newError(abi.CodeInternal, e.Message)
	}
}

// translateConnect says why no connection could be made.
func translateConnect(err error, cfg *pgconn.Config) *abi.Error {
	switch {
	case errors.Is(err, errSuperuser):
		return newError(abi.CodeDenied, sentenceSuperuser)
	case errors.Is(err, errEncoding):
		return newError(abi.CodeUnsupported, sentenceEncoding)
	}
	if server, ok := errors.AsType[*pgconn.PgError](err); ok {
		if failure := translate(server); failure.Code == abi.CodeDenied || failure.Code == abi.CodeUnavailable {
			return failure
		}
		return newError(abi.CodeUnavailable, sentenceConnect)
	}
	if sentence := insecure(err, cfg); sentence != "" {
		return newError(abi.CodeUnavailable, sentence)
	}
	sentence := sentenceConnect
	switch cause, ok := errors.AsType[*net.OpError](err); {
	case silent(err):
		sentence += " (no answer)"
	case ok && cause.Op == "dial" && cause.Err != nil && strings.Contains(cause.Err.Error(), "refused"):
		sentence += " (connection refused)"
	}
	return newError(abi.CodeUnavailable, sentence)
}

// silent tells whether the other side was waited for in vain.
func silent(err error) bool { return pgconn.Timeout(err) || errors.Is(err, context.DeadlineExceeded) }

// insecure says why there is no TLS that is good enough, and nothing when that is not it.
func insecure(err error, cfg *pgconn.Config) string {
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return sentenceName
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return sentenceCA
	}
	// Where it would go without, something else failed then.
	plain := cfg.TLSConfig == nil || slices.ContainsFunc(cfg.Fallbacks, func(f *pgconn.FallbackConfig) bool { return f.TLSConfig == nil })
	if plain || silent(err) {
		return ""
	}
	switch text := err.Error(); {
	case strings.Contains(text, "server refused TLS connection"):
		return sentenceNoTLS
	case strings.Contains(text, "tls error"), strings.Contains(text, "x509: "), strings.Contains(text, "tls: "):
		return sentenceTLS
	}
	return ""
}

// ended says why a context ended. Nothing was done, so the same request may be made again.
func ended(ctx context.Context, when string) *abi.Error {
	why := "the deadline passed "
	if errors.Is(ctx.Err(), context.Canceled) {
		why = "the call was cancelled "
	}
	return &abi.Error{Code: abi.CodeDeadline, Message: why + when + "; nothing was done", Retryable: true}
}

// at adds the place to an error, unless it knows one: waiting for earlier steps may have found it.
func at(failure *abi.Error, step, row int) *abi.Error {
	if failure == nil || step < 0 {
		return failure
	}
	if known, ok := failure.Details[abi.DetailStep]; ok && known != strconv.Itoa(step) {
		return failure
	}
	if failure.Details == nil {
		failure.Details = make(map[string]string, 2)
	}
	failure.Details[abi.DetailStep] = strconv.Itoa(step)
	if row >= 0 {
		failure.Details[abi.DetailRow] = strconv.Itoa(row)
	}
	return failure
}
