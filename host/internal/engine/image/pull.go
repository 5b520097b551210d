package image

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/alineo-labs/alineo-host/host/internal/engine/layer"
)

// PullOptions are how an image is fetched.
type PullOptions struct {
	// Username and Password are for the registry; without them it is asked without, or with what
	// Docker's configuration has for it when Keychain is set.
	Username, Password string
	Keychain           bool
	// Progress is told how far it is, now and then. It may be nil.
	Progress func(Progress)
}

// Progress is how far a pull or an import is.
type Progress struct {
	Layer, Layers int   // the one at hand, from 1
	Bytes         int64 // of it, unpacked
}

// platform is what images are wanted for.
func platform() v1.Platform { return v1.Platform{OS: "linux", Architecture: runtime.GOARCH} }

// Pull fetches an image from its registry, and keeps it by its name. Registries on loopback may speak
// plain HTTP.
func (s *Store) Pull(ctx context.Context, ref string, opts PullOptions) (*Image, error) {
	r, err := name.ParseReference(ref)
	if err != nil {
		return nil, fmt.Errorf("pulling %q: %w", ref, err)
	}
	options := []remote.Option{remote.WithContext(ctx), remote.WithPlatform(platform()), remote.WithUserAgent("alineo-host")}
	switch {
	case opts.Username != "" || opts.Password != "":
		options = append(options, remote.WithAuth(&authn.Basic{Username: opts.Username, Password: opts.Password}))
	case opts.Keychain:
		options = append(options, remote.WithAuthFromKeychain(authn.DefaultKeychain))
	}
	img, err := remote.Image(r, options...)
	if err != nil {
		return nil, fmt.Errorf("pulling %s: %w", ref, err)
	}
	got, err := s.add(ctx, img, opts.Progress)
	if err != nil {
		return nil, fmt.Errorf("pulling %s: %w", ref, err)
	}
	return s.named(got, r.Name())
}

// Import takes an image from a file: an archive as docker save writes it, or an OCI layout; or makes
// one of a directory that holds a root file system. It is kept by the name ref; an archive or layout
// that has a name itself needs none.
func (s *Store) Import(ctx context.Context, from, ref string, progress func(Progress)) (*Image, error) {
	fail := func(err error) (*Image, error) { return nil, fmt.Errorf("importing %s: %w", from, err) }
	named := ""
	if ref != "" {
		var err error
		if named, err = canonical(ref); err != nil {
			return fail(err)
		}
	}
	st, err := os.Stat(from)
	if err != nil {
		return fail(err)
	}
	var got *Image
	switch {
	case !st.IsDir():
		var tag string
		got, tag, err = s.importArchive(ctx, from, progress)
		if named == "" {
			named = tag
		}
	case isLayout(from):
		var tag string
		got, tag, err = s.importLayout(ctx, from, progress)
		if named == "" {
			named = tag
		}
	case named == "":
		err = errors.New("a directory has no name of its own: give one")
	default:
		got, err = s.addDirectory(ctx, from)
	}
	if err != nil {
		return fail(err)
	}
	if named == "" {
		return fail(errors.New("the image has no name of its own: give one"))
	}
	return s.named(got, named)
}

func (s *Store) importArchive(ctx context.Context, from string, progress func(Progress)) (img *Image, tag string, err error) {
	open := func() (io.ReadCloser, error) { return os.Open(from) }
	manifest, err := tarball.LoadManifest(open)
	if err != nil {
		return nil, "", fmt.Errorf("it is no archive of an image: %w", err)
	}
	if len(manifest) != 1 {
		return nil, "", fmt.Errorf("it holds %d images, and one can be imported: save each by itself", len(manifest))
	}
	if len(manifest[0].RepoTags) > 0 {
		if tag, err = canonical(manifest[0].RepoTags[0]); err != nil {
			return nil, "", err
		}
	}
	found, err := tarball.Image(open, nil)
	if err != nil {
		return nil, "", err
	}
	img, err = s.add(ctx, found, progress)
	return img, tag, err
}

func isLayout(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "oci-layout"))
	return err == nil
}

// refAnnotation names an image in a layout's index (OCI image layout).
const refAnnotation = "org.opencontainers.image.ref.name"

// importLayout takes the image of a layout that is for this platform.
func (s *Store) importLayout(ctx context.Context, from string, progress func(Progress)) (img *Image, tag string, err error) {
	index, err := layout.ImageIndexFromPath(from)
	if err != nil {
		return nil, "", err
	}
	found, err := findImage(index, 0)
	if err != nil {
		return nil, "", err
	}
	if found == nil {
		return nil, "", fmt.Errorf("it has no image for %s", platform())
	}
	if manifest, err := index.IndexManifest(); err == nil && len(manifest.Manifests) == 1 {
		// The name may be a tag alone, which is no name.
		if ref := manifest.Manifests[0].Annotations[refAnnotation]; strings.ContainsAny(ref, "/:") {
			if tag, err = canonical(ref); err != nil {
				return nil, "", err
			}
		}
	}
	img, err = s.add(ctx, found, progress)
	return img, tag, err
}

// maxNesting is how deep indexes of a layout may nest.
const maxNesting = 4

func findImage(index v1.ImageIndex, depth int) (v1.Image, error) {
	manifest, err := index.IndexManifest()
	if err != nil || depth > maxNesting {
		return nil, err
	}
	for i := range manifest.Manifests {
		d := &manifest.Manifests[i]
		switch {
		case d.MediaType.IsIndex():
			inner, err := index.ImageIndex(d.Digest)
			if err != nil {
				return nil, err
			}
			if found, err := findImage(inner, depth+1); found != nil || err != nil {
				return found, err
			}
		case d.MediaType.IsImage():
			if d.Platform == nil || d.Platform.Satisfies(platform()) {
				return index.Image(d.Digest)
			}
		}
	}
	return nil, nil //nolint:nilnil // there is none
}

// add unpacks an image, unless the store has it.
func (s *Store) add(ctx context.Context, from v1.Image, progress func(Progress)) (*Image, error) {
	digest, err := from.ConfigName()
	if err != nil {
		return nil, err
	}
	if have, err := s.load(digest.String()); err == nil {
		return have, nil
	}
	config, err := from.ConfigFile()
	if err != nil {
		return nil, err
	}
	if config.OS != "linux" || config.Architecture != runtime.GOARCH {
		return nil, fmt.Errorf("the image is for %s/%s, and this machine runs %s", config.OS, config.Architecture, platform())
	}
	layers, err := from.Layers()
	if err != nil {
		return nil, err
	}
	if len(layers) != len(config.RootFS.DiffIDs) {
		return nil, fmt.Errorf("the image has %d layers and names %d", len(layers), len(config.RootFS.DiffIDs))
	}
	img := &Image{
		Digest: digest.String(), AddedAt: time.Now().UTC().Truncate(time.Second), Platform: config.OS + "/" + config.Architecture,
		Env: config.Config.Env, WorkDir: config.Config.WorkingDir, User: config.Config.User,
	}
	return img, s.fill(img, func(root string) (int64, error) {
		u := newUnpacker(root)
		for i, l := range layers {
			report := &reporter{to: progress, at: Progress{Layer: i + 1, Layers: len(layers)}}
			if err := unpackLayer(ctx, u, l, config.RootFS.DiffIDs[i], report); err != nil {
				return 0, err
			}
		}
		return u.bytes, u.close()
	})
}

func unpackLayer(ctx context.Context, u *unpacker, l v1.Layer, want v1.Hash, report *reporter) error {
	r, err := l.Uncompressed()
	if err != nil {
		return fmt.Errorf("fetching a layer: %w", err)
	}
	defer func() { _ = r.Close() }()
	got, err := u.layer(ctx, io.TeeReader(r, report))
	if err != nil {
		return err
	}
	if got != want.String() {
		return fmt.Errorf("a layer's content is %s, and the image says %s: it was damaged or changed", got, want)
	}
	return nil
}

// reportEvery is how many bytes pass between two reports.
const reportEvery = 1 << 20

// reporter tells how many bytes went through it.
type reporter struct {
	to   func(Progress)
	at   Progress
	told int64
}

func (r *reporter) Write(p []byte) (int, error) {
	r.at.Bytes += int64(len(p))
	if r.to != nil && r.at.Bytes-r.told >= reportEvery {
		r.told = r.at.Bytes
		r.to(r.at)
	}
	return len(p), nil
}

// fill makes an image's directory under another name, and gives it its own when it is whole.
func (s *Store) fill(img *Image, unpack func(root string) (int64, error)) (err error) {
	tmp, err := os.MkdirTemp(s.dir, ".new-")
	if err != nil {
		return fmt.Errorf("unpacking: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, layer.Remove(tmp))
		}
	}()
	root := filepath.Join(tmp, rootDir)
	if err := os.Mkdir(root, 0o755); err != nil {
		return fmt.Errorf("unpacking: %w", err)
	}
	if img.Size, err = unpack(root); err != nil {
		return err
	}
	b, err := json.MarshalIndent(img, "", "  ")
	if err != nil {
		return fmt.Errorf("unpacking: %w", err)
	}
	if err := os.WriteFile(filepath.Join(tmp, recordFile), b, 0o600); err != nil {
		return fmt.Errorf("unpacking: %w", err)
	}
	if err := layer.Sync(tmp); err != nil {
		return err
	}
	err = os.Rename(tmp, filepath.Join(s.dir, folder(img.Digest)))
	if errors.Is(err, fs.ErrExist) {
		return layer.Remove(tmp) // another process was faster
	}
	if err != nil {
		return fmt.Errorf("unpacking: %w", err)
	}
	return nil
}

// named gives an image a name, whatever had it before.
func (s *Store) named(img *Image, canonicalName string) (*Image, error) {
	path := s.nameFile(canonicalName)
	tmp, err := os.CreateTemp(filepath.Dir(path), ".new-")
	if err != nil {
		return nil, fmt.Errorf("naming image %s: %w", canonicalName, err)
	}
	_, err = tmp.WriteString(img.Digest)
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("naming image %s: %w", canonicalName, err), os.Remove(tmp.Name()))
	}
	return s.load(img.Digest)
}
