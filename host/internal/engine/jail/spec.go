package jail

// Level is how much stands between a sandbox and the machine.
type Level string

// The levels, strongest first.
const (
	Namespaces Level = "namespaces"
	Reduced    Level = "reduced"
	None       Level = "none"
)

// Spec describes one sandbox to its init. It travels as JSON.
type Spec struct {
	ID       string
	Hostname string
	Level    Level

	// DataDir is the engine's data directory. The paths below are relative to
	// it, which keeps overlay's option strings short: they are limited to one
	// page.
	DataDir string
	// Upper is the layer that takes what the sandbox writes.
	Upper string
	// Work and Root are overlay's work directory and the mount point.
	Work, Root string
	// Lowers are the layers below, newest first; the last is the base layer.
	Lowers []string
	// Bottom is the directory below the root layer, absolute or relative to
	// DataDir: an image's files. "" is none, for where there are Tops.
	Bottom string
	// Tops are the host's top directories to show ("usr", "etc", …).
	Tops []string
	// Copied are those of them that the base layer holds whole.
	Copied []string
	// Volumes are the host's directories that it works with besides.
	Volumes []Volume
	// Volatile is off where the kernel doesn't know the mount option.
	Volatile bool

	// Memory is how many bytes of memory it may have in all, 0 is no limit.
	Memory uint64
	// MaxMemory bounds each process's data in bytes and MaxProcesses the
	// number of processes, by rlimits: for when there are no control groups.
	// 0 is no limit.
	MaxMemory    uint64
	MaxProcesses uint64
	// Polite lets the machine's own processes go first: for when no control
	// group bounds the use of processors.
	Polite bool

	// Landlock asks for the second wall. It is off only where the kernel has
	// none.
	Landlock bool
}

// RootLayer is the directory in a layer that holds everything that is not
// below one of the host's top directories.
const RootLayer = "rootfs"

// WorkDir is the directory in a reduced sandbox's upper layer where it works.
const WorkDir = "workspace"
