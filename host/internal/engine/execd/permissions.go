//go:build unix

package execd

import (
	"maps"
	"net/http"
	"slices"
)

// setPermissions changes owners and modes, file by file in the order of their
// names; the first that fails ends it.
func (s *Server) setPermissions(w http.ResponseWriter, r *http.Request) {
	var wanted map[string]permission
	if !decode(w, r, &wanted) {
		return
	}
	for _, asked := range slices.Sorted(maps.Keys(wanted)) {
		path, err := s.path(asked)
		if err == nil {
			err = wanted[asked].apply(path)
		}
		if err != nil {
			writeError(w, http.StatusInternalServerError, codeRuntime, "error changing permissions of "+asked+". "+err.Error())
			return
		}
	}
	w.WriteHeader(http.StatusOK)
}
