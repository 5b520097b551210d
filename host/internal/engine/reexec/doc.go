// Package reexec starts this program again in another role: as the shim that
// keeps a sandbox, or as the init inside it.
//
//	img, err := reexec.Open("")                       // a sealed copy of this program
//	cmd := img.Command(reexec.Shim, id, sock, lock)   // files become descriptors 3, 4, …
//	err = cmd.Start()
//
// and, first thing in main:
//
//	if role, arg, ok := reexec.Current(); ok { … never return … }
//
// A process is in a role only if its whole argument list has the right form
// (name, a fixed 128-bit word, the argument) and descriptor 3 is a unix
// socket: nothing that a user types by accident.
//
// The copy is a memfd that is sealed against writing, so that a process in a
// sandbox that somehow gets hold of /proc/1/exe holds a private, read-only
// file and not the program on the host's disk.
//
// imports: nothing of ours.
package reexec
