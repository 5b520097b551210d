package lifecycle

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/alineo-labs/alineo-host/host/internal/engine/image"
)

// imageRoot is the image at the bottom of a sandbox.
type imageRoot struct {
	// Digest names it in the store; "" is a directory of somebody else's, which Path names.
	Digest string `json:",omitempty"`
	Path   string `json:",omitempty"`
	// Env and WorkDir are what its processes have.
	Env     []string `json:",omitempty"`
	WorkDir string   `json:",omitempty"`
	// User is whom they run as.
	User string `json:",omitempty"`
}

// environment is Env by name.
func (r *imageRoot) environment() map[string]string {
	env := make(map[string]string, len(r.Env))
	for _, e := range r.Env {
		if name, value, ok := strings.Cut(e, "="); ok {
			env[name] = value
		}
	}
	return env
}

// user is whom the processes of an image's sandboxes run as; "" is its root. An ordinary user's
// sandboxes have no other.
func (m *Manager) user(r *imageRoot) string {
	if r == nil || !m.manyUsers() {
		return ""
	}
	return r.User
}

// manyUsers tells whether processes in sandboxes can be other users than its root.
func (m *Manager) manyUsers() bool { return os.Geteuid() == 0 }

// bottom is where an image's files lie.
func (m *Manager) bottom(r *imageRoot) string {
	if r.Digest == "" {
		return r.Path
	}
	root := m.images.Root(r.Digest)
	if rel, err := filepath.Rel(m.opts.DataDir, root); err == nil {
		return rel // shorter: overlay's options have to fit into a page
	}
	return root
}

// mapped is what an image name stands for: by itself, or without its tag or digest.
func (m *Manager) mapped(uri string) string {
	if to, ok := m.opts.Images[uri]; ok {
		return to
	}
	name := uri
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		name = name[:i]
	}
	name, _, _ = strings.Cut(name, "@")
	if to, ok := m.opts.Images[name]; ok {
		return to
	}
	return uri
}

// useImage finds what a new sandbox is made of, and fetches it if need be. Until release is called the
// image can't be removed; afterwards the sandbox keeps it.
func (m *Manager) useImage(ctx context.Context, rec *record, q createRequest) (release func(), err error) {
	to := m.mapped(q.image)
	if to == HostImage {
		return func() {}, nil
	}
	if !m.isolated() {
		return nil, problem(http.StatusInternalServerError, codePullFailed,
			"Failed to pull image %s: with %s isolation sandboxes see the machine's own files, and no image's: ask for the image %q, or map this one to it under [engine.images]", q.image, m.opts.Level, HostImage)
	}
	if err := m.fetch(ctx, to, q); err != nil {
		return nil, problem(http.StatusInternalServerError, codePullFailed,
			"Failed to pull image %s: %v (what else can be done: alineo-host image import FILE --name %s, or in alineo.toml under [engine.images]: %q = %q for the machine's own files)",
			q.image, err, q.image, q.image, HostImage)
	}
	release, err = m.images.Use()
	if err != nil {
		return nil, err
	}
	if rec.Root, err = m.root(to); err != nil {
		release()
		return nil, problem(http.StatusInternalServerError, codePullFailed, "Failed to pull image %s: %v", q.image, err)
	}
	return release, nil
}

// fetch brings an image into the store unless it is there. Those who want the same one wait for the
// first, which goes on when nobody does any more.
func (m *Manager) fetch(ctx context.Context, to string, q createRequest) error {
	if isRootDirectory(to) {
		return nil
	}
	ref, err := storeName(to)
	if err != nil {
		return err
	}
	if _, err := m.images.Find(ref); !errors.Is(err, image.ErrNotFound) {
		return err //nolint:wrapcheck // it names the image
	}
	done := m.fetches.DoChan(ref+"\x00"+q.username+"\x00"+q.password, func() (any, error) {
		m.log.Info("fetching an image", "op", "pull", "image", to)
		if filepath.IsAbs(to) {
			return m.images.Import(m.ctx, to, ref, nil)
		}
		return m.images.Pull(m.ctx, ref, image.PullOptions{Username: q.username, Password: q.password, Keychain: true})
	})
	select {
	case r := <-done:
		return r.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// root describes what fetch has brought.
func (m *Manager) root(to string) (*imageRoot, error) {
	if isRootDirectory(to) {
		return &imageRoot{Path: to}, nil
	}
	ref, err := storeName(to)
	if err != nil {
		return nil, err
	}
	img, err := m.images.Find(ref)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the image
	}
	return &imageRoot{Digest: img.Digest, Env: img.Env, WorkDir: img.WorkDir, User: img.User}, nil
}

// isRootDirectory tells a directory with a root file system, which is used as it is, from images.
func isRootDirectory(to string) bool {
	if !filepath.IsAbs(to) {
		return false
	}
	st, err := os.Stat(to)
	if err != nil || !st.IsDir() {
		return false
	}
	_, err = os.Stat(filepath.Join(to, "oci-layout"))
	return err != nil
}

// storeName is what an image is called in the store: a file's, by its path and what tells a changed file
// from the one before.
func storeName(to string) (string, error) {
	if !filepath.IsAbs(to) {
		return to, nil
	}
	st, err := os.Stat(to)
	if err != nil {
		return "", fmt.Errorf("using %s as an image: %w", to, err)
	}
	sum := sha256.Sum256(fmt.Append(nil, to, st.Size(), st.ModTime().UnixNano()))
	return "file.invalid/" + hex.EncodeToString(sum[:16]), nil
}

// ImageUsers tells by what of a data directory an image is in use; "" is nothing.
func ImageUsers(dataDir string) (func(digest string) (by string, err error), error) {
	users := map[string]string{}
	for _, kind := range []struct{ dir, file, word string }{
		{sparesDir, sandboxRecord, "sandbox"}, {sandboxesDir, sandboxRecord, "sandbox"}, {snapshotsDir, snapRecord, "snapshot"},
	} {
		names, err := subdirectories(filepath.Join(dataDir, kind.dir))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			var rec struct{ Root *imageRoot }
			if err := readRecord(filepath.Join(dataDir, kind.dir, name, kind.file), &rec); err == nil && rec.Root != nil {
				users[rec.Root.Digest] = fmt.Sprintf("%s %s", kind.word, name)
			}
		}
	}
	return func(digest string) (string, error) { return users[digest], nil }, nil
}

// Images is the image store of a data directory.
func Images(dataDir string) (*image.Store, error) {
	return image.Open(filepath.Join(dataDir, imagesDir))
}
