package config

import "time"

// Default is the configuration of an empty file in an empty environment. Its paths are relative to
// the working directory or start with ~/; Load makes them absolute.
func Default() *Config {
	c := &Config{
		Sandbox: Sandbox{URL: Embedded, Image: HostImage, KeepAlive: true},
		Ledger:  Ledger{Plugin: SQLite, Redact: true},
		Runs: Runs{
			Keep: KeepEverything, DetachedTTL: Duration(30 * time.Minute), InterruptedTTL: Duration(24 * time.Hour),
			Lease: Duration(10 * time.Second), SweepEvery: Duration(time.Minute),
		},
		Serve:       Serve{Listen: "127.0.0.1:7777"},
		Credentials: Credentials{Broker: Vault},
		Engine:      Engine{Data: "~/.local/share/alineo-host", Isolation: "auto", Listen: "127.0.0.1:8080", MaxDisk: 20 << 30, MaxFiles: 1_000_000},
		Log:         Log{Level: "info"},
		dir:         ".",
	}
	c.fillBundled([]string{SQLite, Postgres})
	return c
}

// vaultDeadline is how long a call of the bundled broker may take: it waits for sidecars that are still
// starting, and for values that are kept elsewhere.
const vaultDeadline = Duration(30 * time.Second)

// DefaultPlugin is a plugin of that name of which the file says nothing.
func DefaultPlugin(name string) Plugin {
	p := Plugin{Limits: DefaultLimits()}
	if name == Vault {
		p.Limits.Deadline = vaultDeadline
	}
	return p
}

// DefaultLimits are the limits of a plugin that names none.
func DefaultLimits() Limits {
	return Limits{
		Memory:        64 << 20,
		Deadline:      Duration(5 * time.Second),
		StartDeadline: Duration(10 * time.Second),
		MaxRequest:    16 << 20,
		MaxResponse:   16 << 20,
		LogLines:      100,
	}
}

// DefaultSQL is a granted database of which only the path is given or, with the driver Postgres, only
// the dsn.
func DefaultSQL() SQL {
	return SQL{
		Driver: SQLite, Synchronous: "full", BusyTimeout: Duration(5 * time.Second),
		PoolSize: 8, StatementTimeout: Duration(30 * time.Second),
	}
}

// defaultLedgerPath is where the bundled SQLite plugin keeps the ledger.
const defaultLedgerPath = "./.alineo/ledger.db"
