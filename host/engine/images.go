package engine

import (
	"context"
	"fmt"

	"github.com/alineo-labs/alineo-host/host/internal/engine/image"
	"github.com/alineo-labs/alineo-host/host/internal/engine/lifecycle"
)

type (
	// Image is one image of the store.
	Image = image.Image
	// PullOptions are how an image is fetched.
	PullOptions = image.PullOptions
	// ImageProgress is how far a pull or an import is.
	ImageProgress = image.Progress
)

// ErrNoImage says that there is no image of a name.
var ErrNoImage = image.ErrNotFound

// Images is the image store of a data directory. It may be used beside the process that serves the
// directory, and is safe for concurrent use.
type Images struct {
	store *image.Store
	dir   string
}

// OpenImages opens the image store of a data directory, which need not be served.
func OpenImages(opts Options) (*Images, error) {
	dir, err := dataDir(opts.DataDir)
	if err != nil {
		return nil, fmt.Errorf("opening the image store: %w", err)
	}
	store, err := lifecycle.Images(dir)
	if err != nil {
		return nil, err
	}
	return &Images{store: store, dir: dir}, nil
}

// Pull fetches an image from its registry; one of that name that is there already is replaced.
func (i *Images) Pull(ctx context.Context, ref string, opts PullOptions) (*Image, error) {
	return i.store.Pull(ctx, ref, opts)
}

// Import takes an image from an archive of docker save, an OCI layout, or a directory with a root file
// system, under a name; the first two may have one of their own.
func (i *Images) Import(ctx context.Context, from, name string, progress func(ImageProgress)) (*Image, error) {
	return i.store.Import(ctx, from, name, progress)
}

// List returns every image, newest first.
func (i *Images) List() ([]*Image, error) { return i.store.List() }

// Remove takes a name away, or an image when ref is its digest or the beginning of it; its files go with
// its last name. An image that a sandbox or snapshot needs is an error.
func (i *Images) Remove(ctx context.Context, ref string) (*Image, error) {
	return i.store.Remove(ctx, ref, i.user)
}

// Prune removes the images that nothing uses and that have no name, or, with all, a name too; and what
// broken-off pulls left.
func (i *Images) Prune(ctx context.Context, all bool) ([]*Image, error) {
	return i.store.Prune(ctx, all, i.user)
}

func (i *Images) user(digest string) (string, error) {
	users, err := lifecycle.ImageUsers(i.dir)
	if err != nil {
		return "", err
	}
	return users(digest)
}
