package image

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/alineo-labs/alineo-host/host/internal/engine/layer"
)

// Store is a directory of images. It is safe for concurrent use, also by several processes.
type Store struct{ dir string }

// Image is one image of a store.
type Image struct {
	// Digest is of its configuration, "sha256:" and 64 hex digits.
	Digest string `json:"digest"`
	// Names are what it is asked for by, in order.
	Names []string `json:"names"`
	// Size is of its files, in bytes.
	Size int64 `json:"size"`
	// AddedAt is when it came into the store.
	AddedAt time.Time `json:"addedAt"`
	// Platform is "linux/amd64" and the like.
	Platform string `json:"platform"`
	// Env, WorkDir and User are what its configuration says of processes.
	Env     []string `json:"env,omitempty"`
	WorkDir string   `json:"workDir,omitempty"`
	User    string   `json:"user,omitempty"`
}

// ErrNotFound says that the store has no image of that name or digest.
var ErrNotFound = errors.New("no such image")

const (
	namesDir   = "names"
	recordFile = "image.json"
	rootDir    = "rootfs"
	lockFile   = "lock"
)

// Open makes the directory if need be.
func Open(dir string) (*Store, error) {
	if err := os.MkdirAll(filepath.Join(dir, namesDir), 0o700); err != nil {
		return nil, fmt.Errorf("opening the image store: %w", err)
	}
	// Images have setuid files, perhaps as root's: nobody else may reach them here.
	if err := os.Chmod(dir, 0o700); err != nil { //nolint:gosec // a directory
		return nil, fmt.Errorf("opening the image store: %w", err)
	}
	return &Store{dir: dir}, nil
}

// Root is where the files of an image lie.
func (s *Store) Root(digest string) string {
	return filepath.Join(s.dir, folder(digest), rootDir)
}

func folder(digest string) string { return strings.ReplaceAll(digest, ":", "-") }

// validDigest tells a digest from anything else that could be in a path.
func validDigest(digest string) bool {
	hex, ok := strings.CutPrefix(digest, "sha256:")
	return ok && len(hex) == 64 && strings.Trim(hex, "0123456789abcdef") == ""
}

// canonical is a name as it is kept: "alpine" is "index.docker.io/library/alpine:latest".
func canonical(ref string) (string, error) {
	r, err := name.ParseReference(ref)
	if err != nil {
		return "", fmt.Errorf("image name %q: %w", ref, err)
	}
	return r.Name(), nil
}

func (s *Store) nameFile(canonicalName string) string {
	return filepath.Join(s.dir, namesDir, url.QueryEscape(canonicalName))
}

// Find looks an image up by a name, a digest, or the first digits of one (six at least).
func (s *Store) Find(ref string) (*Image, error) {
	if n, err := canonical(ref); err == nil {
		digest, err := os.ReadFile(s.nameFile(n))
		if err == nil && validDigest(string(digest)) {
			return s.load(string(digest))
		}
	}
	images, err := s.List()
	if err != nil {
		return nil, err
	}
	digits := strings.TrimPrefix(ref, "sha256:")
	const fewest = 6
	var found *Image
	for _, img := range images {
		if len(digits) >= fewest && strings.HasPrefix(strings.TrimPrefix(img.Digest, "sha256:"), digits) {
			if found != nil {
				return nil, fmt.Errorf("image %q: %w: more than one begins so", ref, ErrNotFound)
			}
			found = img
		}
	}
	if found == nil {
		return nil, fmt.Errorf("image %q: %w", ref, ErrNotFound)
	}
	return found, nil
}

func (s *Store) load(digest string) (*Image, error) {
	b, err := os.ReadFile(filepath.Join(s.dir, folder(digest), recordFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("image %s: %w", digest, ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("reading image %s: %w", digest, err)
	}
	var img Image
	if err := json.Unmarshal(b, &img); err != nil {
		return nil, fmt.Errorf("reading image %s: %w", digest, err)
	}
	img.Names = nil
	names, err := s.names()
	for n, d := range names {
		if d == digest {
			img.Names = append(img.Names, n)
		}
	}
	sort.Strings(img.Names)
	return &img, err
}

// names are all names with their digests.
func (s *Store) names() (map[string]string, error) {
	entries, err := os.ReadDir(filepath.Join(s.dir, namesDir))
	if err != nil {
		return nil, fmt.Errorf("listing images: %w", err)
	}
	names := make(map[string]string, len(entries))
	for _, e := range entries {
		n, err := url.QueryUnescape(e.Name())
		if err != nil || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		digest, err := os.ReadFile(filepath.Join(s.dir, namesDir, e.Name()))
		if err == nil && validDigest(string(digest)) {
			names[n] = string(digest)
		}
	}
	return names, nil
}

// List returns every image, newest first.
func (s *Store) List() ([]*Image, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("listing images: %w", err)
	}
	var images []*Image
	for _, e := range entries {
		digest := strings.Replace(e.Name(), "-", ":", 1)
		if !validDigest(digest) {
			continue
		}
		img, err := s.load(digest)
		if errors.Is(err, ErrNotFound) {
			continue // removed just now
		}
		if err != nil {
			return nil, err
		}
		images = append(images, img)
	}
	slices.SortStableFunc(images, func(a, b *Image) int { return b.AddedAt.Compare(a.AddedAt) })
	return images, nil
}

// Use keeps images from being removed until release is called: long enough to write down somewhere
// that one is in use.
func (s *Store) Use() (release func(), err error) {
	return lockStore(filepath.Join(s.dir, lockFile), false)
}

// Remove takes a name away, or an image with all of its names when ref is a digest. The files go with
// the last name, unless inUse says that they are needed: then it is an error and nothing is changed.
func (s *Store) Remove(ctx context.Context, ref string, inUse func(digest string) (by string, err error)) (*Image, error) {
	release, err := lockStore(filepath.Join(s.dir, lockFile), true)
	if err != nil {
		return nil, err
	}
	defer release()
	img, err := s.Find(ref)
	if err != nil {
		return nil, err
	}
	gone := img.Names
	if n, err := canonical(ref); err == nil && slices.Contains(img.Names, n) {
		gone = []string{n}
	}
	if len(gone) == len(img.Names) {
		by, err := inUse(img.Digest)
		if err != nil {
			return nil, err
		}
		if by != "" {
			return nil, fmt.Errorf("removing image %s: it is in use by %s", ref, by)
		}
	}
	return img, s.remove(ctx, img, gone)
}

func (s *Store) remove(ctx context.Context, img *Image, names []string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, n := range names {
		if err := os.Remove(s.nameFile(n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing image name %s: %w", n, err)
		}
	}
	if len(names) < len(img.Names) {
		return nil
	}
	away := filepath.Join(s.dir, ".gone-"+folder(img.Digest))
	if err := os.Rename(filepath.Join(s.dir, folder(img.Digest)), away); err != nil {
		return fmt.Errorf("removing image %s: %w", img.Digest, err)
	}
	return layer.Remove(away)
}

// Prune removes every image that nothing uses, and what broken-off pulls left. all includes those that
// have a name.
func (s *Store) Prune(ctx context.Context, all bool, inUse func(digest string) (by string, err error)) ([]*Image, error) {
	release, err := lockStore(filepath.Join(s.dir, lockFile), true)
	if err != nil {
		return nil, err
	}
	defer release()
	images, err := s.List()
	if err != nil {
		return nil, err
	}
	var gone []*Image
	for _, img := range images {
		by, err := inUse(img.Digest)
		if err != nil {
			return gone, err
		}
		if by != "" || len(img.Names) > 0 && !all {
			continue
		}
		if err := s.remove(ctx, img, img.Names); err != nil {
			return gone, err
		}
		gone = append(gone, img)
	}
	return gone, s.sweep()
}

// staleAge is after how long a directory that is being filled counts as left behind.
const staleAge = 24 * time.Hour

func (s *Store) sweep() error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return fmt.Errorf("pruning images: %w", err)
	}
	for _, e := range entries {
		st, err := e.Info()
		left := strings.HasPrefix(e.Name(), ".gone-") || strings.HasPrefix(e.Name(), ".new-") && err == nil && time.Since(st.ModTime()) > staleAge
		if !left {
			continue
		}
		if err := layer.Remove(filepath.Join(s.dir, e.Name())); err != nil {
			return fmt.Errorf("pruning images: %w", err)
		}
	}
	return nil
}
