//go:build unix

package execd

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sort"
	"strconv"
)

func (s *Server) listDirectory(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("path") == "" {
		writeError(w, http.StatusBadRequest, codeMissingQuery, "missing query parameter 'path'")
		return
	}
	depth := 1
	if v := q.Get("depth"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 0 {
			writeError(w, http.StatusBadRequest, codeInvalidBody, "depth must be a non-negative integer: "+v)
			return
		}
		depth = n
	}
	root, err := s.path(q.Get("path"))
	if err != nil {
		writeError(w, http.StatusInternalServerError, codeRuntime, err.Error())
		return
	}
	st, err := os.Lstat(root)
	if err != nil {
		fileError(w, err)
		return
	}
	if !st.IsDir() {
		writeError(w, http.StatusBadRequest, codeInvalidFile, "not a directory: "+root)
		return
	}
	list, err := appendEntries([]fileInfo{}, newDescriber(), root, depth)
	if err != nil {
		fileError(w, err)
		return
	}
	writeJSON(w, http.StatusOK, list)
}

// appendEntries lists dir in lexical order, each directory before what is in
// it. Links are not followed.
func appendEntries(list []fileInfo, d *describer, dir string, depth int) ([]fileInfo, error) {
	if depth == 0 {
		return list, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return list, err
	}
	for _, e := range entries {
		st, err := e.Info()
		if err != nil {
			continue // gone in between
		}
		path := filepath.Join(dir, e.Name())
		list = append(list, d.info(path, st))
		if e.IsDir() {
			if list, err = appendEntries(list, d, path, depth-1); err != nil {
				return list, err
			}
		}
	}
	return list, nil
}

func (s *Server) makeDirectories(w http.ResponseWriter, r *http.Request) {
	var wanted map[string]permission
	if !decode(w, r, &wanted) {
		return
	}
	paths := make([]string, 0, len(wanted))
	for p := range wanted {
		paths = append(paths, p)
	}
	sort.Strings(paths)
	for _, asked := range paths {
		if err := s.makeDirectory(asked, wanted[asked]); err != nil {
			writeError(w, http.StatusInternalServerError, codeRuntime, "error creating directory "+asked+". "+err.Error())
			return
		}
	}
	w.WriteHeader(http.StatusOK)
}

func (s *Server) makeDirectory(asked string, want permission) error {
	path, err := s.path(asked)
	if err != nil {
		return err
	}
	if st, err := os.Stat(path); err == nil {
		if !st.IsDir() {
			return fmt.Errorf("%s exists and is not a directory", path)
		}
		return nil // an existing directory is left as it is
	}
	if err := s.opts.User.MakeDir(path, 0o777); err != nil {
		return err
	}
	return want.apply(path)
}

func (s *Server) removeDirectories(w http.ResponseWriter, r *http.Request) {
	for _, asked := range r.URL.Query()["path"] {
		path, err := s.path(asked)
		if err == nil {
			err = os.RemoveAll(path)
		}
		if err != nil {
			writeError(w, http.StatusInternalServerError, codeRuntime, "error removing directory "+asked+". "+err.Error())
			return
		}
	}
	w.WriteHeader(http.StatusOK)
}
