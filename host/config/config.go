package config

// Config is the decoded file. The zero value is not useful: start from Default or Load.
//
// It may be read by several goroutines once it is no longer changed.
type Config struct {
	Sandbox Sandbox `toml:"sandbox"`
	Ledger  Ledger  `toml:"ledger"`
	Runs    Runs    `toml:"runs"`
	Serve   Serve   `toml:"serve"`
	// Credentials says who binds what sandboxes use and never see.
	Credentials Credentials       `toml:"credentials"`
	Plugins     map[string]Plugin `toml:"plugins"`
	// Secrets are values that plugins are granted by name. They are read again whenever a plugin asks:
	// see ReadSecret.
	Secrets   map[string]Secret `toml:"secrets"`
	Engine    Engine            `toml:"engine"`
	Telemetry Telemetry         `toml:"telemetry"`
	Log       Log               `toml:"log"`

	file    string
	dir     string
	index   index             // where each key stands in the file
	origins map[string]Origin // where each value that is not a default came from
	moved   map[string]string // keys that were filled from another key of the file
	env     func(name string) (string, bool)
}

// Sandbox says where sandboxes run.
type Sandbox struct {
	// URL is Embedded or the base URL of an OpenSandbox server.
	URL string `toml:"url"`
	// APIKey is sent to the server; empty: none.
	APIKey Secret `toml:"api_key"`
	// UseServerProxy reaches into sandboxes through the server instead of directly.
	UseServerProxy bool `toml:"use_server_proxy"`
	// MaxConcurrency is how many sandboxes may be open at once; 0: no limit.
	MaxConcurrency int `toml:"max_concurrency"`
	// Image is what a sandbox is made from when nothing else is asked for.
	Image string `toml:"image"`
	// Timeout is how long the server keeps a sandbox; 0: the server's own rule (embedded: until closed).
	Timeout Duration `toml:"timeout"`
	// KeepAlive lets Timeout begin anew as long as something runs in the sandbox.
	KeepAlive bool `toml:"keep_alive"`
}

// Ledger says what records the events.
type Ledger struct {
	// Plugin is a name under [plugins], or a bundled one.
	Plugin string `toml:"plugin"`
	// Redact takes the values of credentials and secrets out of everything that is recorded and shown.
	Redact bool `toml:"redact"`
	// DigestKey keys the digests by which resume compares a step's directory and environment with
	// what was recorded; unset: digests are not keyed.
	DigestKey Secret `toml:"digest_key"`
	// DigestKeyID names the key in the ledger, so that a changed key is "not comparable" and never
	// "different".
	DigestKeyID string `toml:"digest_key_id"`
}

// Runs says how durable runs are kept.
type Runs struct {
	// Store is the plugin that keeps instances, runs, their logs and locks: a name under [plugins], or a
	// bundled one. Empty: the ledger's.
	Store string `toml:"store"`
	// Keep is what of a run is stored outside of its sandbox: KeepEverything, KeepSandbox (ids, times and
	// positions, never text), KeepChat or KeepNothing (both nothing: a run ends when its last viewer
	// leaves; the chat is the application's to keep).
	Keep string `toml:"keep"`
	// DetachedTTL is how long a run goes on without a viewer.
	DetachedTTL Duration `toml:"detached_ttl"`
	// InterruptedTTL is how long an interrupted run waits for a human.
	InterruptedTTL Duration `toml:"interrupted_ttl"`
	// SandboxTTL is how long a sandbox that no run uses is kept; 0: until its own time is up.
	SandboxTTL Duration `toml:"sandbox_ttl"`
	// Retention is how long after its end a run's record and log are kept; 0: for ever.
	Retention Duration `toml:"retention"`
	// Lease is how long a host that died keeps others from its runs.
	Lease Duration `toml:"lease"`
	// SweepEvery is how often a daemon looks for runs that nobody looks after.
	SweepEvery Duration `toml:"sweep_every"`
	// AllowUnfenced takes runs over and sweeps also where the store can't keep a superseded host from
	// writing.
	AllowUnfenced bool `toml:"allow_unfenced"`
}

// Serve says where the daemon listens and who is let in.
type Serve struct {
	// Listen is where it listens, host:port. Anything but a loopback address needs Token.
	Listen string `toml:"listen"`
	// Token is what clients must send; empty: whoever reaches the address is let in.
	Token Secret `toml:"token"`
}

// RunsPlugin is the name of the plugin that keeps durable runs.
func (c *Config) RunsPlugin() string {
	if c.Runs.Store != "" {
		return c.Runs.Store
	}
	return c.Ledger.Plugin
}

// Credentials says how credentials get to where the requests of sandboxes leave.
type Credentials struct {
	// Broker is the plugin that binds them: a name under [plugins], or a bundled one; empty: there is none.
	Broker string `toml:"broker"`
}

// Plugin is one WebAssembly guest.
type Plugin struct {
	// Source is the path of the module; empty: the bundled plugin of this name.
	Source string `toml:"source,path"`
	// SHA256 is the module's digest in hex. Every module that is not bundled is pinned by it.
	SHA256 string `toml:"sha256"`
	// Limits bound what the guest may use.
	Limits Limits `toml:"limits"`
	// SQL holds the databases that the guest is granted, by the name it asks for.
	SQL map[string]SQL `toml:"sql"`
	// Grant is what else the guest may use.
	Grant Grant `toml:"grant"`
	// Config is handed to the guest as it is, references resolved.
	Config map[string]any `toml:"config"`
}

// Limits bound one plugin.
type Limits struct {
	// Memory is the most linear memory an instance may have.
	Memory Size `toml:"memory"`
	// Deadline is the longest that one call may take.
	Deadline Duration `toml:"deadline"`
	// StartDeadline is the longest that starting an instance may take.
	StartDeadline Duration `toml:"start_deadline"`
	// Instances is how many calls may run at once; 0: one for each core, at least two.
	Instances int `toml:"instances"`
	// MaxRequest and MaxResponse bound what crosses in one call.
	MaxRequest  Size `toml:"max_request"`
	MaxResponse Size `toml:"max_response"`
	// LogLines is how many lines a second the guest may log.
	LogLines int `toml:"log_lines"`
}

// Grant is what a guest may ask of the host beside databases.
type Grant struct {
	// HTTP are the addresses that it may send requests to, each with what lies below its path:
	// https://host:port/prefix.
	HTTP []string `toml:"http"`
	// Private are hosts of HTTP that may stand for loopback and private addresses. An address, or
	// localhost, as the host in HTTP needs no entry here.
	Private []string `toml:"private"`
	// CA is a file of certificates in PEM form; when given, servers are trusted that these vouch for, and
	// no others.
	CA string `toml:"ca,path"`
	// Secrets are names under [secrets].
	Secrets []string `toml:"secrets"`
	// Files are directories that it may use.
	Files []Files `toml:"files"`
}

// Files is a directory that a guest is granted, with all below it.
type Files struct {
	// Host is the directory, which must exist.
	Host string `toml:"host,path"`
	// Guest is the absolute path by which the guest knows it.
	Guest string `toml:"guest"`
	// Mode is "r" (read only) or "rw".
	Mode string `toml:"mode"`
}

// SQL is a database that a guest is granted. The guest knows its name, nothing else of it.
type SQL struct {
	// Driver is SQLite or Postgres. The keys below are of one driver each.
	Driver string `toml:"driver"`
	// Path is the database file, or Memory.
	Path string `toml:"path,path"`
	// Synchronous is "full" (a commit survives a power cut) or "normal" (survives a crash of the
	// process only).
	Synchronous string `toml:"synchronous"`
	// BusyTimeout is how long to wait for another process that writes to the file.
	BusyTimeout Duration `toml:"busy_timeout"`
	// DSN is a PostgreSQL URL, or a list of key=value as libpq has them. What it leaves out, or all of
	// it, is taken from the PG* variables.
	DSN Secret `toml:"dsn"`
	// PoolSize is the largest number of connections.
	PoolSize int `toml:"pool_size"`
	// StatementTimeout is the longest that one statement may take.
	StatementTimeout Duration `toml:"statement_timeout"`
	// AllowSuperuser accepts a role that can leave the database: run programs, or use files on the server.
	AllowSuperuser bool `toml:"allow_superuser"`
}

// driverKeys are the keys of SQL that a driver has, beside driver.
func driverKeys(driver string) []string {
	if driver == Postgres {
		return []string{"dsn", "pool_size", "statement_timeout", "allow_superuser"}
	}
	return []string{"path", "synchronous", "busy_timeout"}
}

// Engine is the embedded sandbox engine.
type Engine struct {
	// Data is the directory that holds sandboxes and snapshots.
	Data string `toml:"data,path"`
	// AllowReduced lets the engine run with weaker isolation where the kernel refuses the full one.
	AllowReduced bool `toml:"allow_reduced"`
	// Isolation is "auto", or the one form to use: "namespaces", "reduced" or "none".
	Isolation string `toml:"isolation"`
	// Init is an alineo-host binary that can start a sandbox's first process; empty: this program.
	Init string `toml:"init,path"`
	// Listen is where `alineo-host engine` serves OpenSandbox clients, host:port.
	Listen string `toml:"listen"`
	// Metrics is where `alineo-host engine` serves Prometheus, host:port; empty: nowhere.
	Metrics string `toml:"metrics"`
	// APIKey is what clients of `alineo-host engine` must send; empty: none, on loopback only.
	APIKey Secret `toml:"api_key"`
	// HostPaths are directories of the machine's that sandboxes may have as volumes, each with what
	// is below it; none: no volumes.
	HostPaths []string `toml:"host_paths,path"`
	// MaxDisk is what the files of one sandbox may take beyond its image's, and MaxFiles how many there
	// may be; 0 is no limit.
	MaxDisk  Size `toml:"max_disk"`
	MaxFiles int  `toml:"max_files"`
	// Nameserver is the DNS server, host:port, that sandboxes' names are looked up with; empty: the
	// machine's way.
	Nameserver string `toml:"nameserver"`
	// CA is a file of certificates in PEM form: servers that credentials are sent to are trusted that
	// these vouch for, besides those that the machine trusts.
	CA string `toml:"ca,path"`
	// Images maps image names to what they are: HostImage, the path of an archive, an OCI layout or a
	// root directory, or the name of another image.
	Images map[string]string `toml:"images"`
}

// Log says what the host logs.
type Log struct {
	// Level is trace, debug, info, warn, error or off.
	Level string `toml:"level"`
	// JSON writes one JSON object a line.
	JSON bool `toml:"json"`
}

// Telemetry says who is told, in OpenTelemetry's words, what the host does.
type Telemetry struct {
	// OTLP is the base URL of a collector that takes OTLP over HTTP; empty: nobody is told.
	OTLP string `toml:"otlp"`
	// Headers go with what is sent there: name=value, several with commas between, percent-encoded.
	Headers Secret `toml:"headers"`
}

// Words that the file uses.
const (
	Embedded  = "embedded"     // sandbox.url: the engine in this process
	HostImage = "host"         // an image: the machine's own root file system
	Memory    = ":memory:"     // a database that lives as long as the process
	SQLite    = "sqlite"       // the bundled ledger plugin, and the driver of its database
	Vault     = "broker-vault" // the bundled credential broker
	Postgres  = "postgres"     // the other bundled ledger plugin, and the driver of its database
	LedgerDB  = "ledger"       // the database that a ledger plugin asks for

	KeepEverything = "everything" // runs.keep
	KeepSandbox    = "sandbox"
	KeepChat       = "chat"
	KeepNothing    = "nothing"
)

// File is the file that was read, as it was named; empty when there was none.
func (c *Config) File() string { return c.file }

// Dir is the directory that relative paths are relative to.
func (c *Config) Dir() string { return c.dir }
