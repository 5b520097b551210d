// Package sdktest tries the SDKs that are not in Go, with real compilers: each must read and write the
// golden vectors of the ABI, and the folder that `plugin new` makes of each example must build and pass
// the suite, as its author would run it. It has only tests. A compiler that is not there is told loudly,
// with what to install.
//
// imports: host, host/config, host/store.
package sdktest
