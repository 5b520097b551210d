package image

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"time"

	"github.com/alineo-labs/alineo-host/host/internal/engine/layer"
)

// addDirectory makes an image of a root file system that somebody unpacked. Two imports of one
// directory are two images: it may have changed.
func (s *Store) addDirectory(ctx context.Context, from string) (*Image, error) {
	var id [32]byte
	_, _ = rand.Read(id[:]) // never fails (crypto/rand)
	img := &Image{
		Digest: "sha256:" + hex.EncodeToString(id[:]), AddedAt: time.Now().UTC().Truncate(time.Second),
		Platform: "linux/" + runtime.GOARCH,
	}
	return img, s.fill(img, func(root string) (int64, error) {
		if err := layer.Apply(ctx, root, from); err != nil {
			return 0, err
		}
		return treeSize(root)
	})
}

// treeSize is the sum of the sizes of a tree's files.
func treeSize(root string) (size int64, err error) {
	err = filepath.WalkDir(root, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if st, err := e.Info(); err == nil && st.Mode().IsRegular() {
			size += st.Size()
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("measuring: %w", err)
	}
	return size, nil
}
