// Package copier copies a sandbox's layer for an ordinary user.
//
// In an ordinary user's sandbox, root may make files that the user, whose
// they are, can't read (mode 0). A short-lived process that is root in a user
// namespace of its own can:
//
//	err := copier.Apply(ctx, image, dst, src)
//
// imports: layer, reexec.
package copier
