//go:build !unix

package plugin

import "github.com/tetratelabs/wazero/experimental"

func reserveMemory(uint64) experimental.LinearMemory { return nil }
