package engine

import (
	"errors"
	"io"
	"net/http"
	"syscall"
)

// again asks a second time, and a third, when a connection breaks before there is an answer to a request
// that changes nothing. The process that served may have been killed just then: what it was about to start
// has its socket until it runs a program of its own, and connections to it are taken and then cut.
type again struct{ next http.RoundTripper }

func (a again) RoundTrip(r *http.Request) (*http.Response, error) {
	const tries = 3
	for n := 1; ; n++ {
		resp, err := a.next.RoundTrip(r)
		cut := errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.EOF)
		if !cut || n == tries || r.Context().Err() != nil ||
			r.Method != http.MethodGet && r.Method != http.MethodHead || r.Body != nil && r.Body != http.NoBody {
			return resp, err
		}
	}
}
