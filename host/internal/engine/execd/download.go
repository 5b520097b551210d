//go:build unix

package execd

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func (s *Server) download(w http.ResponseWriter, r *http.Request) {
	asked := r.URL.Query().Get("path")
	if asked == "" {
		writeError(w, http.StatusBadRequest, codeMissingQuery, "missing query parameter 'path'")
		return
	}
	path, err := s.path(asked)
	if err != nil {
		writeError(w, http.StatusInternalServerError, codeRuntime, err.Error())
		return
	}
	f, err := os.Open(path)
	if err != nil {
		fileError(w, err)
		return
	}
	defer func() { _ = f.Close() }()
	st, err := f.Stat()
	if err != nil {
		fileError(w, err)
		return
	}
	if st.IsDir() {
		writeError(w, http.StatusBadRequest, codeInvalidFile, path+" is a directory")
		return
	}
	q := r.URL.Query()
	if q.Has("offset") || q.Has("limit") {
		sendLines(w, r, f)
		return
	}
	send(w, r, f, st)
}

// send answers with the file or the first range of it that is asked for.
func send(w http.ResponseWriter, r *http.Request, f *os.File, st os.FileInfo) {
	h := w.Header()
	h.Set("Accept-Ranges", "bytes")
	h.Set("Last-Modified", st.ModTime().UTC().Format(http.TimeFormat))
	if t, err := http.ParseTime(r.Header.Get("If-Modified-Since")); err == nil && !st.ModTime().Truncate(time.Second).After(t) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	size, status := st.Size(), http.StatusOK
	from, n := int64(0), size
	if v := r.Header.Get("Range"); v != "" && st.Mode().IsRegular() {
		var err error
		from, n, err = parseRange(v, size)
		if errors.Is(err, errUnsatisfiable) {
			h.Set("Content-Range", "bytes */"+strconv.FormatInt(size, 10))
			http.Error(w, err.Error(), http.StatusRequestedRangeNotSatisfiable)
			return
		}
		if err != nil {
			writeError(w, http.StatusRequestedRangeNotSatisfiable, codeUnknown, err.Error())
			return
		}
		status = http.StatusPartialContent
		h.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, from+n-1, size))
	}
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", disposition(filepath.Base(f.Name())))
	if !st.Mode().IsRegular() {
		w.WriteHeader(status) // a device or a pipe: as long as it lasts
		_, _ = io.Copy(w, f)
		return
	}
	h.Set("Content-Length", strconv.FormatInt(n, 10))
	w.WriteHeader(status)
	_, _ = io.Copy(w, io.NewSectionReader(f, from, n))
}

// disposition names the file, in both forms when the name isn't ASCII.
func disposition(name string) string {
	for i := range len(name) {
		if name[i] >= 0x80 || name[i] < 0x20 {
			esc := url.PathEscape(name)
			return `attachment; filename="` + esc + `"; filename*=UTF-8''` + esc
		}
	}
	return `attachment; filename="` + name + `"`
}

var errUnsatisfiable = errors.New("invalid range: failed to overlap")

// parseRange reads the first range of a Range header: where it begins and how
// many bytes it has.
func parseRange(v string, size int64) (from, n int64, err error) {
	malformed := fmt.Errorf("invalid range %q", v)
	spec, ok := strings.CutPrefix(v, "bytes=")
	if !ok {
		return 0, 0, malformed
	}
	spec, _, _ = strings.Cut(spec, ",")
	first, last, ok := strings.Cut(strings.TrimSpace(spec), "-")
	if !ok {
		return 0, 0, malformed
	}
	if first == "" {
		n, err := strconv.ParseUint(last, 10, 63)
		if err != nil {
			return 0, 0, malformed
		}
		tail := min(int64(n), size)
		if tail == 0 {
			return 0, 0, errUnsatisfiable
		}
		return size - tail, tail, nil
	}
	a, err := strconv.ParseUint(first, 10, 63)
	if err != nil {
		return 0, 0, malformed
	}
	until := size - 1
	if last != "" {
		b, err := strconv.ParseUint(last, 10, 63)
		if err != nil || b < a {
			return 0, 0, malformed
		}
		until = min(until, int64(b))
	}
	if int64(a) >= size {
		return 0, 0, errUnsatisfiable
	}
	return int64(a), until - int64(a) + 1, nil
}

// sendLines answers with some of the file's lines, joined with \n.
func sendLines(w http.ResponseWriter, r *http.Request, f io.Reader) {
	q := r.URL.Query()
	offset, limit, err := lineWindow(q.Get("offset"), q.Get("limit"), r.Header.Get("Range"))
	if err != nil {
		writeError(w, http.StatusBadRequest, codeInvalidBody, err.Error())
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusOK)
	out := bufio.NewWriter(w)
	defer func() { _ = out.Flush() }()
	sent := 0
	cut := lineCutter{max: maxLine}
	line := 0
	cut.emit = func(b []byte) {
		line++
		if line < offset || sent == limit {
			return
		}
		if sent > 0 {
			_ = out.WriteByte('\n') // bufio keeps the first error
		}
		_, _ = out.Write(b)
		sent++
	}
	buf := make([]byte, 64<<10)
	for sent != limit {
		n, err := f.Read(buf)
		cut.write(buf[:n])
		if err != nil {
			break
		}
	}
	cut.flush()
}

// lineWindow reads offset (the first line, from 1) and limit (how many; -1 is
// all).
func lineWindow(offset, limit, rng string) (first, count int, err error) {
	first, count = 1, -1
	if rng != "" {
		return 0, 0, errors.New("offset and limit can't be combined with Range")
	}
	if offset != "" {
		if first, err = strconv.Atoi(offset); err != nil || first < 1 {
			return 0, 0, fmt.Errorf("offset must be a positive integer: %s", offset)
		}
	}
	if limit != "" {
		if count, err = strconv.Atoi(limit); err != nil || count < 1 {
			return 0, 0, fmt.Errorf("limit must be a positive integer: %s", limit)
		}
	}
	return first, count, nil
}
