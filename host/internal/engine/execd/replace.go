//go:build unix

package execd

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// replacement is what is asked for one file.
type replacement struct {
	Old string `json:"old"`
	New string `json:"new"`
}

type replaced struct {
	Count int `json:"replacedCount"`
}

// replaceInFiles replaces every occurrence of a text in each file. All files
// are looked at before the first is changed, and each changes as a whole.
func (s *Server) replaceInFiles(w http.ResponseWriter, r *http.Request) {
	var wanted map[string]replacement
	if !decode(w, r, &wanted) {
		return
	}
	verbose, _ := strconv.ParseBool(r.URL.Query().Get("verbose")) // anything else is no
	names := slices.Sorted(maps.Keys(wanted))
	paths := make(map[string]string, len(wanted))
	for _, asked := range names {
		if wanted[asked].Old == "" {
			invalid(w, "old must not be empty for "+asked)
			return
		}
		path, err := s.replaceTarget(asked)
		if err != nil {
			fileError(w, err)
			return
		}
		paths[asked] = path
	}
	counts := make(map[string]replaced, len(wanted))
	for _, asked := range names {
		n, err := replaceInFile(paths[asked], wanted[asked])
		if err != nil {
			fileError(w, fmt.Errorf("error replacing in %s: %w", asked, err))
			return
		}
		counts[asked] = replaced{n}
	}
	if verbose {
		writeJSON(w, http.StatusOK, counts)
		return
	}
	w.WriteHeader(http.StatusOK)
}

// replaceTarget finds the file behind a path.
func (s *Server) replaceTarget(asked string) (string, error) {
	path, err := s.path(asked)
	if err != nil {
		return "", err
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return "", err
	}
	st, err := os.Stat(path)
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", path)
	}
	return path, err
}

func replaceInFile(path string, what replacement) (n int, err error) {
	src, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { _ = src.Close() }()
	dst, err := os.CreateTemp(filepath.Dir(path), ".replace-*")
	if err != nil {
		return 0, err
	}
	defer func() {
		if err != nil || n == 0 {
			err = errors.Join(err, os.Remove(dst.Name()))
		}
	}()
	n, err = replaceStream(dst, src, []byte(what.Old), []byte(what.New))
	if cerr := dst.Close(); err == nil {
		err = cerr
	}
	if err != nil || n == 0 {
		return n, err
	}
	if err := likeExisting(dst.Name(), path, nil); err != nil {
		return n, err
	}
	return n, os.Rename(dst.Name(), path)
}

// replaceStream copies src to dst with every old replaced by what, which are
// counted. It holds no more than two lengths of old and a little.
func replaceStream(dst io.Writer, src io.Reader, old, what []byte) (n int, err error) {
	out := bufio.NewWriter(dst)
	var held []byte // what may be the beginning of an occurrence
	buf := make([]byte, 64<<10)
	for {
		got, rerr := src.Read(buf)
		held = append(held, buf[:got]...)
		rest := held
		for {
			i := bytes.Index(rest, old)
			if i < 0 {
				break
			}
			_, _ = out.Write(rest[:i]) // bufio keeps the first error
			_, _ = out.Write(what)
			rest = rest[i+len(old):]
			n++
		}
		keep := min(len(rest), len(old)-1)
		if rerr != nil {
			keep = 0
		}
		_, _ = out.Write(rest[:len(rest)-keep])
		held = append(held[:0], rest[len(rest)-keep:]...)
		if errors.Is(rerr, io.EOF) {
			return n, out.Flush()
		}
		if rerr != nil {
			return n, rerr
		}
	}
}
