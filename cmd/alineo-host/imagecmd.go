package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/engine"
)

func newImage(a *app) *cobra.Command {
	return group("image", "Fetch, list and remove the images of the embedded engine",
		"  alineo-host image pull alpine:3.20\n  alineo-host image list",
		newImagePull(a), newImageImport(a), newImageList(a), newImageRemove(a), newImagePrune(a))
}

// images opens the store of the configured data directory.
func (a *app) images() (*engine.Images, error) {
	cfg, err := a.config()
	if err != nil {
		return nil, err
	}
	return engine.OpenImages(host.EngineOptions(cfg, nil))
}

func newImagePull(a *app) *cobra.Command {
	var user string
	var passwordStdin bool
	cmd := &cobra.Command{
		Use:   "pull NAME",
		Short: "Fetch an image from its registry",
		Long: `pull fetches an image from its registry and unpacks it. A registry that wants a login gets the one
of Docker's configuration, or --user with the password on standard input.`,
		Example: `  alineo-host image pull alpine:3.20
  alineo-host image pull --user me --password-stdin registry.example.com/team/app:1 <password.txt`,
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts := engine.PullOptions{Keychain: true, Username: user, Progress: a.imageProgress(args[0])}
			if passwordStdin != (user != "") {
				return &exitError{code: exitUsage, err: errors.New("--user and --password-stdin belong together")}
			}
			if passwordStdin {
				text, err := io.ReadAll(io.LimitReader(os.Stdin, 1<<16))
				if err != nil {
					return fmt.Errorf("reading the password: %w", err)
				}
				opts.Password = strings.TrimRight(string(text), "\r\n")
			}
			images, err := a.images()
			if err != nil {
				return err
			}
			img, err := images.Pull(cmd.Context(), args[0], opts)
			return a.printImage(img, err)
		},
	}
	cmd.Flags().StringVar(&user, "user", "", "log in to the registry as this `user`")
	cmd.Flags().BoolVar(&passwordStdin, "password-stdin", false, "read the password from standard input")
	return cmd
}

func newImageImport(a *app) *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "import PATH",
		Short: "Take an image from a file or directory",
		Long: `import takes an image from an archive that docker save wrote, from an OCI image layout, or from a
directory that holds a root file system.`,
		Example: `  docker save alpine:3.20 -o alpine.tar && alineo-host image import alpine.tar
  alineo-host image import ./rootfs --name my/base:1`,
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			images, err := a.images()
			if err != nil {
				return err
			}
			img, err := images.Import(cmd.Context(), args[0], name, a.imageProgress(args[0]))
			return a.printImage(img, err)
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "keep it by this `name` (default: the one that the file has)")
	return cmd
}

// imageProgress shows on a terminal how far an image is.
func (a *app) imageProgress(what string) func(engine.ImageProgress) {
	var told time.Time
	return func(p engine.ImageProgress) {
		if time.Since(told) >= time.Second {
			told = time.Now()
			a.out.progressf("%s: layer %d of %d, %s", what, p.Layer, p.Layers, bytesText(p.Bytes))
		}
	}
}

func (a *app) printImage(img *engine.Image, err error) error {
	if err != nil {
		return err
	}
	if a.out.json {
		return a.out.data(img)
	}
	return a.out.printf("%s  %s\n", img.Digest, strings.Join(img.Names, ", "))
}

func newImageList(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the images",
		Example: "  alineo-host image list\n  alineo-host image list --json",
		Args:    usage(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			images, err := a.images()
			if err != nil {
				return err
			}
			list, err := images.List()
			if err != nil {
				return err
			}
			return a.printImages(list)
		},
	}
}

func (a *app) printImages(list []*engine.Image) error {
	rows := make([][]string, 0, len(list))
	for _, img := range list {
		if a.out.json {
			if err := a.out.data(img); err != nil {
				return err
			}
			continue
		}
		const digits = 12
		rows = append(rows, []string{
			strings.TrimPrefix(img.Digest, "sha256:")[:digits], bytesText(img.Size),
			img.AddedAt.Local().Format(time.DateTime), img.Platform, strings.Join(img.Names, ", "),
		})
	}
	if a.out.json {
		return nil
	}
	return a.out.table([]string{"ID", "SIZE", "ADDED", "PLATFORM", "NAMES"}, rows)
}

func newImageRemove(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "rm NAME|ID…",
		Short: "Remove names, and images that have none left",
		Long: `rm takes names away. An image's files go with its last name, or with its id; one that a sandbox
or snapshot needs is not removed.`,
		Example: "  alineo-host image rm alpine:3.20",
		Args:    usage(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			images, err := a.images()
			if err != nil {
				return err
			}
			var errs []error
			for _, ref := range args {
				if _, err := images.Remove(cmd.Context(), ref); err != nil {
					errs = append(errs, err)
				}
			}
			return errors.Join(errs...)
		},
	}
}

func newImagePrune(a *app) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:     "prune",
		Short:   "Remove the images that nothing uses",
		Long:    "prune removes images without a name, and with --all every image that no sandbox or snapshot needs.",
		Example: "  alineo-host image prune\n  alineo-host image prune --all",
		Args:    usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.pruneImages(cmd.Context(), all)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "also those that have a name")
	return cmd
}

func (a *app) pruneImages(ctx context.Context, all bool) error {
	images, err := a.images()
	if err != nil {
		return err
	}
	gone, err := images.Prune(ctx, all)
	var size int64
	for _, img := range gone {
		size += img.Size
		if a.out.json {
			if err := a.out.data(img); err != nil {
				return err
			}
		}
	}
	a.out.notef("removed %s, %s", count(len(gone), "image"), bytesText(size))
	return err
}
