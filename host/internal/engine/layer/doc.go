// Package layer makes, copies, merges and removes the layers that a sandbox's
// overlays are stacked from.
//
// A layer is a directory with one directory per overlay ("rootfs", "usr",
// "etc", …). What was deleted is in it as a whiteout (a 0:0 character
// device), what was replaced as an opaque directory (an attribute). The base
// layer is the lowest: the fixed parts of a sandbox's root, and whiteouts
// over what of the host's tree a sandbox must not see.
//
//	base, err := layer.BuildBase(dir)                      // above the host, below all else
//	err = layer.Apply(ctx, snapshotDir, upperDir)          // a snapshot: a copy of the upper layer
//	err = layer.Apply(ctx, dir, older); layer.Apply(ctx, dir, newer)   // a merge
//	err = layer.Remove(dir)
//
// File contents are shared with the original where the file system can
// (reflink), else copied inside the kernel.
//
// imports: jail (the names of a layer's directories).
package layer
