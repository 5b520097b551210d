// Package image keeps container images, unpacked once, in a directory.
//
//	store, err := image.Open(filepath.Join(data, "images"))
//	img, err := store.Pull(ctx, "docker.io/library/alpine:3.20", image.PullOptions{})
//	img, err = store.Import(ctx, "alpine.tar", "alpine:3.20") // a docker archive, an OCI layout, or a directory
//	img, err = store.Find("alpine:3.20")
//	root := store.Root(img.Digest) // a sandbox's overlay has it at the bottom
//
// An image is known by the digest of its configuration, which names its layers' contents, and by any
// number of names. Its files lie under their digest:
//
//	sha256-…/image.json, rootfs/   one image
//	names/…                        one file a name, which holds a digest
//	lock                           shared by who uses an image, exclusive for who removes some
//
// Layers are untrusted. They are unpacked in order into one tree below which nothing is ever written:
// whiteouts remove what was there, links are resolved inside of the tree, devices are left out, and
// each layer's content is compared with the digest that the configuration gives it. Several processes
// may use a store at once: what they see is whole or not there.
//
// imports: layer.
package image
