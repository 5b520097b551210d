package lifecycle

import (
	"io"
	"maps"
	"net/http"
)

// shared lets the pages of every origin use next, as the original does. It is for servers that want a
// key, which a page that somebody happens to visit doesn't have.
func shared(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		if origin == "" {
			next.ServeHTTP(w, r)
			return
		}
		h := http.Header{"Access-Control-Allow-Credentials": {"true"}}
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			preflight(w, r, h)
			return
		}
		if r.Header.Get("Cookie") == "" {
			h.Set("Access-Control-Allow-Origin", "*")
		} else {
			h.Set("Access-Control-Allow-Origin", origin)
			h.Set("Vary", "Origin")
		}
		next.ServeHTTP(&sharedWriter{ResponseWriter: w, headers: h}, r)
	})
}

// preflight answers a browser that asks whether it may.
func preflight(w http.ResponseWriter, r *http.Request, h http.Header) {
	h.Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
	h.Set("Vary", "Origin")
	h.Set("Access-Control-Allow-Methods", "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT")
	h.Set("Access-Control-Max-Age", "600")
	if wanted := r.Header.Get("Access-Control-Request-Headers"); wanted != "" {
		h.Set("Access-Control-Allow-Headers", wanted)
	}
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set(requestIDHeader, requestID(r))
	maps.Copy(w.Header(), h)
	_, _ = io.WriteString(w, "OK") // else nobody waits for it
}

// sharedWriter sets headers last, over those of a sandbox's own server.
type sharedWriter struct {
	http.ResponseWriter
	headers http.Header
	done    bool
}

func (w *sharedWriter) share() {
	if w.done {
		return
	}
	w.done = true
	maps.Copy(w.Header(), w.headers)
}

func (w *sharedWriter) WriteHeader(code int) {
	if code >= http.StatusOK {
		w.share()
	}
	w.ResponseWriter.WriteHeader(code)
}

func (w *sharedWriter) Write(b []byte) (int, error) {
	w.share()
	return w.ResponseWriter.Write(b)
}

// FlushError is for http.ResponseController, like Unwrap.
func (w *sharedWriter) FlushError() error {
	w.share()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

func (w *sharedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
