package lifecycle

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// Problem is an error that the API answers with. Other errors become 500.
type Problem struct {
	Status  int    `json:"-"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (p *Problem) Error() string { return p.Code + ": " + p.Message }

func problem(status int, code, format string, args ...any) *Problem {
	return &Problem{Status: status, Code: code, Message: fmt.Sprintf(format, args...)}
}

// The codes of the wire that we use.
const (
	codeSandboxNotFound   = "DOCKER::SANDBOX_NOT_FOUND"
	codePullFailed        = "DOCKER::SANDBOX_IMAGE_PULL_FAILED"
	codeStartFailed       = "DOCKER::SANDBOX_START_FAILED"
	codeDeleteFailed      = "DOCKER::SANDBOX_DELETE_FAILED"
	codeNotRunning        = "DOCKER::SANDBOX_NOT_RUNNING"
	codeNotPaused         = "DOCKER::SANDBOX_NOT_PAUSED"
	codePauseFailed       = "DOCKER::SANDBOX_PAUSE_FAILED"
	codeResumeFailed      = "DOCKER::SANDBOX_RESUME_FAILED"
	codeInvalidExpiration = "DOCKER::INVALID_EXPIRATION"
	codeInvalidPort       = "DOCKER::INVALID_PORT"
	codeInvalidParameter  = "SANDBOX::INVALID_PARAMETER"
	codeInvalidLabel      = "SANDBOX::INVALID_METADATA_LABEL"
	codeUnsupportedPool   = "SANDBOX::UNSUPPORTED_POOL_REF"
	codeNotSupported      = "SANDBOX::API_NOT_SUPPORTED"
	codeMetadataFormat    = "INVALID_METADATA_FORMAT"
	codeSnapshotNotFound  = "SNAPSHOT::NOT_FOUND"
	codeSnapshotNotReady  = "SNAPSHOT::NOT_READY"
	codeSnapshotState     = "SNAPSHOT::INVALID_STATE"
	codeSourceState       = "SNAPSHOT::INVALID_SOURCE_STATE"
	codeRestoreConfig     = "SNAPSHOT::INVALID_RESTORE_CONFIG"
	codeDeleteConflict    = "SNAPSHOT::DELETE_CONFLICT"
	codeDuplicateVolume   = "VOLUME::DUPLICATE_NAME"
	codeMountPath         = "VOLUME::INVALID_MOUNT_PATH"
	codeSubPath           = "VOLUME::INVALID_SUB_PATH"
	codeInvalidHostPath   = "VOLUME::INVALID_HOST_PATH"
	codeHostPath          = "VOLUME::HOST_PATH_NOT_ALLOWED"
	codeHostPathCreate    = "VOLUME::HOST_PATH_CREATE_FAILED"
	codeVolumeBackend     = "VOLUME::UNSUPPORTED_BACKEND"
	codeClaimNotFound     = "VOLUME::PVC_NOT_FOUND"
	codeClaimInspect      = "VOLUME::PVC_INSPECT_FAILED"
	codeNoPools           = "KUBERNETES::POOL_NOT_SUPPORTED"
	codeNoTemplates       = "FSB::API_NOT_SUPPORTED"
	codeNoDiagnostics     = "DIAGNOSTICS_NOT_IMPLEMENTED"
	codePatchLabel        = "INVALID_METADATA_LABEL" // without its namespace, as the original's
	codeUnknown           = "GENERAL::UNKNOWN_ERROR"
	codeMissingKey        = "MISSING_API_KEY"
	codeCrossOrigin       = "CROSS_ORIGIN" // ours
	codeInvalidKey        = "INVALID_API_KEY"
)

// detail is one fault in a request, in the shape of the framework that the
// original is made with.
type detail struct {
	Type  string `json:"type"`
	Loc   []any  `json:"loc"`
	Msg   string `json:"msg"`
	Input any    `json:"input"`
	Ctx   any    `json:"ctx,omitempty"`
}

// details are all faults of a request: status 422.
type details []detail

func (d details) Error() string { return fmt.Sprintf("%d faults in the request", len(d)) }

func writeJSON(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		http.Error(w, "Internal Server Error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b)
}

// fault says whose an error is, and who has been told.
type fault int

const (
	theirs         fault = iota // the request's
	oursTold                    // ours, and foreseen: the answer says all there is to know
	oursUnforeseen              // ours
)

// writeError answers with whatever err is.
func writeError(w http.ResponseWriter, err error) fault {
	var p *Problem
	var d details
	switch {
	case errors.As(err, &d):
		writeJSON(w, http.StatusUnprocessableEntity, map[string]any{"detail": d})
		return theirs
	case errors.As(err, &p):
		writeJSON(w, p.Status, p)
		if p.Status == http.StatusInternalServerError {
			return oursTold
		}
		return theirs
	}
	writeJSON(w, http.StatusInternalServerError, &Problem{Code: codeUnknown, Message: err.Error()})
	return oursUnforeseen
}

// writeDetail answers in the framework's own short form.
func writeDetail(w http.ResponseWriter, status int) {
	writeJSON(w, status, map[string]string{"detail": http.StatusText(status)})
}
