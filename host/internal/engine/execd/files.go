//go:build unix

package execd

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

func (s *Server) filesInfo(w http.ResponseWriter, r *http.Request) {
	out := map[string]fileInfo{}
	d := newDescriber()
	for _, asked := range r.URL.Query()["path"] {
		path, err := s.path(asked)
		if err != nil {
			writeError(w, http.StatusInternalServerError, codeRuntime, err.Error())
			return
		}
		st, err := os.Lstat(path)
		if err != nil {
			fileError(w, err)
			return
		}
		out[asked] = d.info(path, st)
	}
	writeJSON(w, http.StatusOK, out)
}

func (s *Server) removeFiles(w http.ResponseWriter, r *http.Request) {
	for _, asked := range r.URL.Query()["path"] {
		path, err := s.path(asked)
		if err == nil {
			err = removeFile(path)
		}
		if err != nil {
			writeError(w, http.StatusInternalServerError, codeRuntime, "error removing file "+asked+". "+err.Error())
			return
		}
	}
	w.WriteHeader(http.StatusOK)
}

func removeFile(path string) error {
	st, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if st.IsDir() {
		return fmt.Errorf("%s is a directory", path)
	}
	return os.Remove(path)
}

type move struct {
	Src  string `json:"src"`
	Dest string `json:"dest"`
}

func (s *Server) moveFiles(w http.ResponseWriter, r *http.Request) {
	var moves []move
	if !decode(w, r, &moves) {
		return
	}
	for _, m := range moves {
		if err := s.moveFile(m); err != nil {
			fileError(w, err)
			return
		}
	}
	w.WriteHeader(http.StatusOK)
}

func (s *Server) moveFile(m move) error {
	src, err := s.path(m.Src)
	if err != nil {
		return err
	}
	dest, err := s.path(m.Dest)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(src); err != nil {
		return err
	}
	if _, err := os.Lstat(dest); err == nil {
		return fmt.Errorf("destination already exists: %s", dest)
	}
	if err := s.opts.User.MakeDir(filepath.Dir(dest), 0o777); err != nil {
		return fmt.Errorf("making the parents of %s: %w", dest, err)
	}
	return os.Rename(src, dest)
}

// searchFiles lists the files below path whose base name matches pattern.
func (s *Server) searchFiles(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("path") == "" {
		writeError(w, http.StatusBadRequest, codeMissingQuery, "missing query parameter 'path'")
		return
	}
	root, err := s.path(q.Get("path"))
	if err != nil {
		writeError(w, http.StatusInternalServerError, codeRuntime, err.Error())
		return
	}
	if _, err := os.Lstat(root); err != nil {
		fileError(w, err)
		return
	}
	patterns, err := namePatterns(q.Get("pattern"))
	if err != nil {
		writeError(w, http.StatusInternalServerError, codeRuntime, err.Error())
		return
	}
	found := []fileInfo{}
	d := newDescriber()
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if r.Context().Err() != nil {
			return r.Context().Err()
		}
		if err != nil || entry.IsDir() || !matchesAny(patterns, entry.Name()) {
			return nil //nolint:nilerr // what can't be read is not found
		}
		if st, err := entry.Info(); err == nil {
			found = append(found, d.info(path, st))
		}
		return nil
	})
	if err != nil {
		writeError(w, http.StatusInternalServerError, codeRuntime, err.Error())
		return
	}
	writeJSON(w, http.StatusOK, found)
}

// maxPatterns bounds what {a,b} may multiply to.
const maxPatterns = 256

// namePatterns turns a pattern with {a,b} and ** into ones for filepath.Match.
func namePatterns(pattern string) ([]string, error) {
	if pattern == "" {
		pattern = "**"
	}
	todo, out := []string{strings.ReplaceAll(pattern, "**", "*")}, []string(nil)
	for len(todo) > 0 {
		p := todo[0]
		todo = todo[1:]
		before, rest, open := strings.Cut(p, "{")
		if !open {
			if _, err := filepath.Match(p, ""); err != nil {
				return nil, fmt.Errorf("pattern %q: %w", pattern, err)
			}
			out = append(out, p)
			continue
		}
		inner, after, closed := strings.Cut(rest, "}")
		if !closed || strings.Contains(inner, "{") {
			return nil, fmt.Errorf("pattern %q: %w", pattern, filepath.ErrBadPattern)
		}
		for alt := range strings.SplitSeq(inner, ",") {
			todo = append(todo, before+alt+after)
		}
		if len(todo)+len(out) > maxPatterns {
			return nil, fmt.Errorf("pattern %q has more than %d alternatives", pattern, maxPatterns)
		}
	}
	return out, nil
}

func matchesAny(patterns []string, name string) bool {
	for _, p := range patterns {
		if ok, err := filepath.Match(p, name); err == nil && ok {
			return true
		}
	}
	return false
}
