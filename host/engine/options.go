package engine

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/hashicorp/go-hclog"

	"github.com/alineo-labs/alineo-host/host/internal/engine/jail"
	"github.com/alineo-labs/alineo-host/host/internal/engine/layer"
)

// The isolation levels, strongest first.
const (
	// IsolationNamespaces is the whole of it.
	IsolationNamespaces = string(jail.Namespaces)
	// IsolationReduced is landlock, seccomp and rlimits in a private
	// directory: no private root, no private processes.
	IsolationReduced = string(jail.Reduced)
	// IsolationNone is a process group in a working directory.
	IsolationNone = string(jail.None)
)

// Options say how an engine works. The zero value is right for most.
type Options struct {
	// DataDir holds the sandboxes. Default: ~/.local/share/alineo-host (or
	// under $XDG_DATA_HOME). It must not lie below a directory that sandboxes
	// see (/usr, /etc, /opt, /srv, /var …).
	DataDir string
	// Logger gets structured lines; nil is silence.
	Logger hclog.Logger
	// AllowReduced accepts less than namespaces where the machine allows no
	// more: reduced isolation on Linux, none elsewhere.
	AllowReduced bool
	// Isolation forces a level instead of the best that there is: "auto" or
	// "", or one of the Isolation constants. Less than namespaces needs
	// AllowReduced all the same.
	Isolation string
	// Images maps names of images to what they are. Only "host" is known: the
	// machine's own root, which is also an image name itself. The mapping of
	// the process that serves the data directory counts.
	Images map[string]string
	// HostPaths are directories of the machine's that sandboxes may have as
	// volumes, each with what is below it. None is no volumes. The directories
	// of the process that serves the data directory count.
	HostPaths []string
	// Nameserver is the DNS server ("10.0.0.2:53") that the names are looked up with that sandboxes ask
	// for; "" is this machine's way. What this machine's hosts file says comes first. That of the process that serves the data directory counts.
	Nameserver string
	// Roots is a file of certificates in PEM who may vouch, besides those that this machine trusts, for the
	// hosts that credentials are sent to: a private authority. That of the process that serves the data
	// directory counts.
	Roots string
	// MaxDisk is how many bytes the files of one sandbox may take, and MaxFiles how many there may be,
	// beyond those of its image; 0 is 20 GiB and a million, less than 0 is no limit. A request may ask
	// for less ("ephemeral-storage" in resourceLimits). The limits are soft: files are measured, at
	// the latest every half minute, and a sandbox with more ends and loses them. The limits of the
	// process that serves the data directory count.
	MaxDisk, MaxFiles int64
	// InitPath is a program that calls Init first thing in main, for when this
	// one doesn't.
	InitPath string
	// APIKey is what requests to Handler must carry; "" is no check. The unix
	// socket needs none: only this user can connect.
	APIKey string
	// NoUserNamespace does without a user namespace when run as root.
	NoUserNamespace bool
}

// errNoInit tells what to do.
var errNoInit = errors.New("the embedded engine starts this program again for each sandbox: call engine.Init first thing in main, or name a program that does in [engine] init")

func (o Options) disk() layer.Usage {
	or := func(v, otherwise int64) int64 {
		if v == 0 {
			return otherwise
		}
		return max(v, 0)
	}
	return layer.Usage{Bytes: or(o.MaxDisk, 20<<30), Files: or(o.MaxFiles, 1_000_000)}
}

func (o Options) resolve() (Options, error) {
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	if o.InitPath == "" && !initialised.Load() {
		return o, errNoInit
	}
	switch o.Isolation {
	case "", "auto", IsolationNamespaces, IsolationReduced, IsolationNone:
	default:
		return o, fmt.Errorf("[engine] isolation: %q is none of auto, %s, %s, %s", o.Isolation, IsolationNamespaces, IsolationReduced, IsolationNone)
	}
	var err error
	if o.Roots, err = o.upstreamRoots(); err != nil {
		return o, err
	}
	dir, err := dataDir(o.DataDir)
	if err != nil {
		return o, err
	}
	o.DataDir = dir
	for _, p := range o.HostPaths {
		rel, err := filepath.Rel(dir, p)
		switch {
		case !filepath.IsAbs(p) || filepath.Clean(p) != p:
			return o, fmt.Errorf("[engine] host_paths: %q is not an absolute path without \"..\" and trailing slash", p)
		case err == nil && (rel == "." || filepath.IsLocal(rel)):
			return o, fmt.Errorf("[engine] host_paths: %q lies in the data directory %s, which is no sandbox's", p, dir)
		}
	}
	return o, nil
}

// upstreamRoots is the absolute path of Roots: sandboxes' shims have another working directory. It looks at
// what sandboxes would fail by, one after the other.
func (o Options) upstreamRoots() (string, error) {
	if o.Nameserver != "" {
		if _, _, err := net.SplitHostPort(o.Nameserver); err != nil {
			return "", fmt.Errorf("[engine] nameserver: %q is not host:port (try %q)", o.Nameserver, net.JoinHostPort(o.Nameserver, "53"))
		}
	}
	if o.Roots == "" {
		return "", nil
	}
	path, err := filepath.Abs(o.Roots)
	if err != nil {
		return "", fmt.Errorf("[engine] ca: %w", err)
	}
	pem, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("[engine] ca: %w", err)
	}
	if !x509.NewCertPool().AppendCertsFromPEM(pem) {
		return "", fmt.Errorf("[engine] ca: %s has no certificate in PEM form", path)
	}
	return path, nil
}

// dataDir makes the data directory and names it without links.
func dataDir(dir string) (string, error) {
	dir, err := namedDataDir(dir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("making data directory: %w", err)
	}
	resolved, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", fmt.Errorf("data directory %q: %w", dir, err)
	}
	return resolved, nil
}

// namedDataDir is the data directory's absolute path, whether it is there or not.
func namedDataDir(dir string) (string, error) {
	if dir == "" {
		base := os.Getenv("XDG_DATA_HOME")
		if !filepath.IsAbs(base) {
			home, err := os.UserHomeDir()
			if err != nil {
				return "", fmt.Errorf("choosing a data directory: %w (name one in [engine] data)", err)
			}
			base = filepath.Join(home, ".local", "share")
		}
		dir = filepath.Join(base, "alineo-host")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("data directory %q: %w", dir, err)
	}
	return dir, nil
}
