// Package guestfs lends a directory of the host to a guest as a file system of WASI.
//
//	dir, err := guestfs.Open("/srv/ledger", guestfs.ReadWrite)
//	config := wazero.NewModuleConfig().WithFSConfig(dir.Mount(wazero.NewFSConfig(), "/data"))
//	…
//	err = dir.Close()
//
// Nothing leads out of it: paths are resolved by the kernel below the directory ([os.Root]), so that "..",
// absolute paths and symbolic links, also ones that others make meanwhile, end inside or are refused. There
// are regular files and directories; links, devices, pipes and sockets can't be made or opened. How many
// files are open at once is bounded.
//
// imports: nothing of ours.
package guestfs
