package plugin

import "golang.org/x/sys/unix"

// mapNoReserve keeps what is reserved and not touched out of the kernel's books.
const mapNoReserve = unix.MAP_NORESERVE
