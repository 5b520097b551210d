package lifecycle

import (
	"crypto/subtle"
	"net/http"
	"regexp"
	"strings"
)

// keyHeader carries the API key.
const keyHeader = "OPEN-SANDBOX-API-KEY"

// proxyPath are the paths into sandboxes. They need no key, as with the
// original: whoever calls a sandbox's own servers has none to give.
var proxyPath = regexp.MustCompile(`^(/v1)?/sandboxes/[^/]+/proxy/\d+(/|$)`)

// Guard lets requests through to next that carry the key; with no key, all. With a key, pages of any
// origin may ask.
func Guard(key string, next http.Handler) http.Handler {
	if key == "" {
		return next
	}
	return shared(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.Path
		if open(path) || proxyPath.MatchString(path) && !strings.Contains(path, "..") {
			next.ServeHTTP(w, r)
			return
		}
		err := checkKey(r.Header.Get(keyHeader), key)
		if err == nil {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set(requestIDHeader, requestID(r))
		writeError(w, err)
	}))
}

// open tells which paths anybody may ask for: a health check's, and those of
// the original's documentation, which are nothing here.
func open(path string) bool {
	for _, p := range []string{"/health", "/docs", "/redoc", "/openapi.json"} {
		if strings.HasPrefix(path, p) {
			return true
		}
	}
	return false
}

func checkKey(given, key string) error {
	if given == "" {
		return problem(http.StatusUnauthorized, codeMissingKey, "Authentication credentials are missing. Provide API key via %s header.", keyHeader)
	}
	if subtle.ConstantTimeCompare([]byte(given), []byte(key)) != 1 {
		return problem(http.StatusUnauthorized, codeInvalidKey, "Authentication credentials are invalid. Check your API key and try again.")
	}
	return nil
}
