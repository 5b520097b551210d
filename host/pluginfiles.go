package host

import (
	"errors"
	"fmt"
	"io"

	"github.com/alineo-labs/alineo-host/host/config"
	"github.com/alineo-labs/alineo-host/host/internal/plugin"
	"github.com/alineo-labs/alineo-host/host/internal/plugin/guestfs"
)

// files opens the directories that a plugin is granted.
func (h *Host) files(name string, list []config.Files) (files []plugin.Files, closers map[string]io.Closer, err error) {
	closers = make(map[string]io.Closer, len(list))
	for _, granted := range list {
		mode := guestfs.ReadOnly
		if granted.Mode == config.FilesReadWrite {
			mode = guestfs.ReadWrite
		}
		dir, err := guestfs.Open(granted.Host, mode)
		if err != nil {
			err = fmt.Errorf("granting directory %q to plugin %q: %w", granted.Guest, name, err)
			for _, opened := range closers {
				err = errors.Join(err, opened.Close())
			}
			return nil, nil, err
		}
		closers[granted.Guest] = dir
		files = append(files, plugin.Files{Guest: granted.Guest, Dir: dir})
	}
	return files, closers, nil
}
