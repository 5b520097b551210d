package execd

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
)

// The codes of the original's errors.
const (
	codeInvalidBody         = "INVALID_REQUEST_BODY"
	codeMissingQuery        = "MISSING_QUERY"
	codeRuntime             = "RUNTIME_ERROR"
	codeInvalidFile         = "INVALID_FILE"
	codeInvalidFileContent  = "INVALID_FILE_CONTENT"
	codeInvalidFileMetadata = "INVALID_FILE_METADATA"
	codeFileNotFound        = "FILE_NOT_FOUND"
	codeContextNotFound     = "CONTEXT_NOT_FOUND"
	codeUnknown             = "UNKNOWN"
)

type apiError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		status, b = http.StatusInternalServerError, []byte(`{"code":"UNKNOWN","message":"the answer can't be written as JSON"}`)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b)
}

func writeError(w http.ResponseWriter, status int, code, message string) {
	writeJSON(w, status, apiError{Code: code, Message: message})
}

// maxBody bounds a JSON request body: well above what a command line can be.
const maxBody = 16 << 20

// decode reads the first JSON value of the body into v and answers the
// request itself when that fails.
func decode(w http.ResponseWriter, r *http.Request, v any) bool {
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(v)
	if err == nil {
		return true
	}
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	writeError(w, http.StatusBadRequest, codeInvalidBody, "error parsing request, MAYBE invalid body format. "+err.Error())
	return false
}

func invalid(w http.ResponseWriter, message string) {
	writeError(w, http.StatusBadRequest, codeInvalidBody, "invalid request, validation error "+message)
}
