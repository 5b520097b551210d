package alineohost

import (
	"embed"
	"io/fs"
)

//go:embed LICENSE go.mod abi/ABI.md abi/*.go scripts/sdk-*.sh
//go:embed sdk/go/alineo/*.go sdk/go/egressvault/*.go
//go:embed sdk/rust/Cargo.toml sdk/rust/README.md sdk/rust/src
//go:embed sdk/c/*.c sdk/c/*.h sdk/c/README.md
//go:embed sdk/assemblyscript/assembly sdk/assemblyscript/README.md
//go:embed sdk/zig/src sdk/zig/README.md
//go:embed examples/ledger-memory-go/*.go examples/broker-static-go/*.go
//go:embed examples/broker-static-zig examples/ledger-memory-rust examples/ledger-jsonl-c examples/ledger-memory-as examples/ledger-memory-zig internal/sdktest/testdata/brokers
var sources embed.FS

// Sources are files of this module by their paths. They can't be changed.
func Sources() fs.FS { return sources }
