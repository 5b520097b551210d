//go:build linux

// Command bare is the least that a sandbox of the machine's root takes: it runs in new namespaces,
// mounts an overlay over each top directory, makes them its root, and becomes a shell.
//
//	bare BASE DIR COMMAND
//
// BASE is the base layer, DIR has upper, work and root.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

func main() {
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(base, dir, command string) error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return err
	}
	root := filepath.Join(dir, "root")
	layers, err := os.ReadDir(filepath.Join(dir, "upper"))
	if err != nil {
		return err
	}
	for _, rootfs := range []bool{true, false} {
		for _, l := range layers {
			if (l.Name() == "rootfs") != rootfs {
				continue
			}
			var lowers []string
			if _, err := os.Stat(filepath.Join(base, l.Name())); err == nil {
				lowers = append(lowers, filepath.Join(base, l.Name()))
			}
			at := root
			if !rootfs {
				at = filepath.Join(root, l.Name())
				lowers = append(lowers, "/"+l.Name())
			}
			opts := "lowerdir=" + strings.Join(lowers, ":") + ",upperdir=" + filepath.Join(dir, "upper", l.Name()) +
				",workdir=" + filepath.Join(dir, "work", l.Name()) + ",userxattr,volatile"
			if err := syscall.Mount("overlay", at, "overlay", 0, opts); err != nil {
				return fmt.Errorf("%s: %w", opts, err)
			}
		}
	}
	if err := syscall.Mount("proc", filepath.Join(root, "proc"), "proc", 0, ""); err != nil {
		return err
	}
	if err := os.Chdir(root); err != nil {
		return err
	}
	if err := syscall.PivotRoot(".", "."); err != nil {
		return err
	}
	if err := syscall.Unmount(".", syscall.MNT_DETACH); err != nil {
		return err
	}
	return syscall.Exec("/bin/bash", []string{"bash", "-c", command}, []string{"PATH=/usr/bin:/bin"})
}
