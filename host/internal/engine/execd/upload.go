//go:build unix

package execd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// fileMetadata is what goes before each uploaded file.
type fileMetadata struct {
	Path string `json:"path"`
	permission
}

// maxMetadata bounds one metadata part.
const maxMetadata = 1 << 20

// maxUploads bounds the files of one request.
const maxUploads = 10_000

// upload writes the files of a multipart form: pairs of a metadata part and a
// file part, the n-th of each belonging together. Content goes to unnamed
// neighbours first; only when the whole form is right do they take the
// files' places.
func (s *Server) upload(w http.ResponseWriter, r *http.Request) {
	parts, err := r.MultipartReader()
	if err != nil {
		writeError(w, http.StatusBadRequest, codeInvalidFile, "error parsing multipart form. "+err.Error())
		return
	}
	u := uploads{server: s}
	defer u.discard()
	if err := u.read(parts); err != nil {
		u.refuse(w, err)
		return
	}
	switch {
	case len(u.metadata) == 0:
		writeError(w, http.StatusBadRequest, codeInvalidFileMetadata, "metadata file is missing")
		return
	case len(u.staged) == 0:
		writeError(w, http.StatusBadRequest, codeInvalidFileContent, "file is missing")
		return
	case len(u.metadata) != len(u.staged):
		writeError(w, http.StatusBadRequest, codeInvalidFile,
			fmt.Sprintf("metadata and file count mismatch: %d vs %d", len(u.metadata), len(u.staged)))
		return
	}
	if err := u.commit(); err != nil {
		writeError(w, http.StatusInternalServerError, codeRuntime, err.Error())
		return
	}
	w.WriteHeader(http.StatusOK)
}

// metadataError is a fault in a metadata part.
type metadataError struct{ err error }

func (e metadataError) Error() string { return e.err.Error() }

// storeError is a fault of ours, not of the form's.
type storeError struct{ err error }

func (e storeError) Error() string { return e.err.Error() }

type uploads struct {
	server   *Server
	metadata []fileMetadata
	targets  []string // of metadata, resolved
	staged   []string // temporary files, "" once in place
}

func (u *uploads) refuse(w http.ResponseWriter, err error) {
	var meta metadataError
	var store storeError
	switch {
	case errors.As(err, &meta):
		writeError(w, http.StatusBadRequest, codeInvalidFileMetadata, err.Error())
	case errors.As(err, &store):
		writeError(w, http.StatusInternalServerError, codeRuntime, err.Error())
	default:
		writeError(w, http.StatusBadRequest, codeInvalidFile, "error parsing multipart form. "+err.Error())
	}
}

func (u *uploads) read(parts *multipart.Reader) error {
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if part.FileName() == "" {
			continue // a plain field: the wire wants both parts as files
		}
		if len(u.metadata) > maxUploads || len(u.staged) > maxUploads {
			return fmt.Errorf("more than %d files in one request", maxUploads)
		}
		switch part.FormName() {
		case "metadata":
			err = u.readMetadata(part)
		case "file":
			err = u.stage(part)
		}
		if err != nil {
			return err
		}
	}
}

func (u *uploads) readMetadata(part io.Reader) error {
	var m fileMetadata
	if err := json.NewDecoder(io.LimitReader(part, maxMetadata)).Decode(&m); err != nil {
		return metadataError{fmt.Errorf("error parsing metadata. %w", err)}
	}
	if m.Path == "" {
		return metadataError{errors.New("metadata path is empty")}
	}
	target, err := u.server.path(m.Path)
	if err != nil {
		return metadataError{err}
	}
	u.metadata = append(u.metadata, m)
	u.targets = append(u.targets, target)
	return nil
}

// stage writes content beside its target when that is known already, else
// into the temporary directory.
func (u *uploads) stage(part io.Reader) error {
	dir := u.server.tempDir()
	if n := len(u.staged); n < len(u.targets) {
		target, err := u.server.resolveTarget(u.targets[n])
		if err != nil {
			return storeError{err}
		}
		u.targets[n] = target
		dir = filepath.Dir(target)
	}
	f, err := os.CreateTemp(dir, ".upload-*")
	if err != nil {
		return storeError{fmt.Errorf("error creating file. %w", err)}
	}
	u.staged = append(u.staged, f.Name())
	_, err = io.Copy(f, part)
	if cerr := f.Close(); err == nil && cerr != nil {
		return storeError{cerr}
	}
	if err != nil && isWriteError(err) {
		return storeError{err}
	}
	return err
}

func isWriteError(err error) bool {
	var perr *os.PathError
	return errors.As(err, &perr)
}

// resolveTarget makes the parents and follows links, so that writing to a
// link writes to what it points at.
func (s *Server) resolveTarget(path string) (string, error) {
	if err := s.opts.User.MakeDir(filepath.Dir(path), 0o777); err != nil {
		return "", fmt.Errorf("error creating directory. %w", err)
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		return "", fmt.Errorf("open %s: is a directory", path)
	}
	return path, nil
}

func (u *uploads) commit() error {
	for i := range u.staged {
		if err := u.place(i); err != nil {
			return fmt.Errorf("error writing %s. %w", u.metadata[i].Path, err)
		}
	}
	return nil
}

func (u *uploads) place(i int) error {
	target, err := u.server.resolveTarget(u.targets[i])
	if err != nil {
		return err
	}
	staged := u.staged[i]
	if err := likeExisting(staged, target, u.server.opts.User); err != nil {
		return err
	}
	if err := u.metadata[i].apply(staged); err != nil {
		return err
	}
	if st, err := os.Stat(target); err == nil && !st.Mode().IsRegular() {
		return copyInto(staged, target) // a device or a pipe
	}
	err = os.Rename(staged, target)
	if err != nil && strings.HasPrefix(filepath.Base(staged), ".upload-") && filepath.Dir(staged) != filepath.Dir(target) {
		return copyInto(staged, target) // another file system
	}
	if err == nil {
		u.staged[i] = ""
	}
	return err
}

// likeExisting gives the new content the mode and owner of the file that it
// replaces, or those of a new file, which is newcomer's.
func likeExisting(staged, target string, newcomer *User) error {
	st, err := os.Stat(target)
	if err != nil {
		if err := newcomer.Own(staged); err != nil {
			return err
		}
		return os.Chmod(staged, 0o755) // as the original: 0777 less the umask
	}
	if uid, gid, ok := fileOwner(st); ok {
		_ = os.Chown(staged, uid, gid) // not always allowed; then it is ours
	}
	return os.Chmod(staged, st.Mode())
}

func copyInto(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = src.Close() }()
	st, err := src.Stat()
	if err != nil {
		return err
	}
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, st.Mode().Perm())
	if err != nil {
		return err
	}
	if _, err := io.Copy(dst, src); err != nil {
		_ = dst.Close()
		return err
	}
	return dst.Close()
}

func (u *uploads) discard() {
	for _, path := range u.staged {
		if path != "" {
			_ = os.Remove(path)
		}
	}
}
