package execd

import (
	"crypto/subtle"
	"net/http"
)

// tokenHeader carries the token that a sandbox's environment may ask for.
const tokenHeader = "X-EXECD-ACCESS-TOKEN" //nolint:gosec // the name of a header

// admitted answers requests without the token that the sandbox's environment
// names in EXECD_ACCESS_TOKEN, if it does.
func (s *Server) admitted(w http.ResponseWriter, r *http.Request) bool {
	want := s.opts.Env["EXECD_ACCESS_TOKEN"]
	if want == "" || subtle.ConstantTimeCompare([]byte(r.Header.Get(tokenHeader)), []byte(want)) == 1 {
		return true
	}
	writeJSON(w, http.StatusUnauthorized, map[string]string{"error": "Unauthorized: invalid or missing header " + tokenHeader})
	return false
}
