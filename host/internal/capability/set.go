package capability

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"maps"
	"net/url"
	"slices"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/alineo-labs/alineo-host/abi"
)

// SetOptions says what a plugin is granted.
type SetOptions struct {
	Plugin    string              // its name in alineo.toml
	Databases map[string]Database // by the name that the guest uses
	Secrets   map[string]SecretReader
	Web       Web                  // where it may send HTTP requests; nil: nowhere
	Files     map[string]io.Closer // directories by the guest's path; they are closed with the Set
	Logger    hclog.Logger         // nil logs nothing
}

// Set is what one plugin was granted. It is safe for concurrent use by the plugin's instances.
type Set struct {
	plugin    string
	databases map[string]Database
	secrets   map[string]SecretReader
	versions  versions
	keeper    keeper
	web       Web
	files     map[string]io.Closer
	logger    hclog.Logger
	programs  programs
	tables    sync.Pool // of *[]byte, for batch.read
}

// NewSet returns the set of one plugin.
func NewSet(opts SetOptions) *Set {
	s := &Set{
		plugin: opts.Plugin, databases: maps.Clone(opts.Databases), secrets: maps.Clone(opts.Secrets), web: opts.Web, files: maps.Clone(opts.Files),
		logger: opts.Logger, programs: programs{seed: maphash.MakeSeed()}, versions: newVersions(),
	}
	if s.logger == nil {
		s.logger = hclog.NewNullLogger()
	}
	return s
}

// Plugin returns the name of the plugin.
func (s *Set) Plugin() string { return s.plugin }

// Logger returns the logger that the guest's log lines go to, never nil.
func (s *Set) Logger() hclog.Logger { return s.logger }

// Databases returns the names of the granted databases, sorted.
func (s *Set) Databases() []string {
	return slices.Sorted(maps.Keys(s.databases))
}

// Database returns a granted database by name.
func (s *Set) Database(name string) (Database, bool) {
	db, ok := s.databases[name]
	return db, ok
}

// Granted returns nil when the plugin has what it wants, or an error that says what to add to
// alineo.toml.
func (s *Set) Granted(want abi.Want) error {
	switch want.Name {
	case "log":
		return nil
	case "sql":
		if _, ok := s.databases[want.Resource]; ok {
			return nil
		}
		return fmt.Errorf("plugin %q wants the SQL database %q (%s), which alineo.toml does not grant; add\n"+
			"[plugins.%s.sql.%s]\nand below it what its SQL is written for, a file or a server:\n"+
			"driver = \"sqlite\"\npath = \"./%s.db\"\nor\ndriver = \"postgres\"\ndsn = \"env:DATABASE_URL\"",
			s.plugin, want.Resource, reason(want), key(s.plugin), key(want.Resource), fileName(want.Resource))
	case "http":
		return s.grantedHTTP(want)
	case "secret":
		return s.grantedSecret(want)
	case "files":
		return s.grantedFiles(want)
	default:
		return fmt.Errorf("plugin %q wants %q of %q (%s), which this host does not have; it has \"sql\", \"http\", \"secret\", \"files\" and \"log\"",
			s.plugin, want.Name, want.Resource, reason(want))
	}
}

func (s *Set) grantedHTTP(want abi.Want) error {
	if s.web != nil {
		u, err := url.Parse(want.Resource)
		if want.Resource == "" && s.web.Granted() || err == nil && s.web.Permits(u) == nil {
			return nil
		}
	}
	address := want.Resource
	if address == "" {
		address = "https://host:port/path"
	}
	return fmt.Errorf("plugin %q wants to send HTTP requests (%s), which alineo.toml does not grant; add\n[plugins.%s.grant]\nhttp = [%q]",
		s.plugin, reason(want), key(s.plugin), address)
}

func (s *Set) grantedSecret(want abi.Want) error {
	if _, ok := s.secrets[want.Resource]; ok || want.Resource == "" && len(s.secrets) > 0 {
		return nil
	}
	name := want.Resource
	if name == "" {
		name = "name"
	}
	return fmt.Errorf("plugin %q wants the secret %q (%s), which alineo.toml does not grant; add\n[plugins.%s.grant]\nsecrets = [%q]\n"+
		"and the secret itself, such as\n[secrets]\n%s = \"file:/run/secrets/%s\"",
		s.plugin, want.Resource, reason(want), key(s.plugin), name, key(name), fileName(name))
}

func (s *Set) grantedFiles(want abi.Want) error {
	if _, ok := s.files[want.Resource]; ok {
		return nil
	}
	return fmt.Errorf("plugin %q wants the directory %q (%s), which alineo.toml does not grant; add\n[plugins.%s.grant]\n"+
		"files = [{ host = \"./data\", guest = %q, mode = \"rw\" }]",
		s.plugin, want.Resource, reason(want), key(s.plugin), want.Resource)
}

func reason(want abi.Want) string {
	if want.Reason == "" {
		return "it gives no reason"
	}
	return want.Reason
}

// key writes a name as a TOML key: bare when that is allowed, quoted otherwise.
func key(name string) string {
	if name != "" && !slices.ContainsFunc([]byte(name), notBare) {
		return name
	}
	return fmt.Sprintf("%q", name)
}

// fileName is a harmless name for a file to propose.
func fileName(resource string) string {
	if resource != "" && !slices.ContainsFunc([]byte(resource), notBare) {
		return resource
	}
	return "data"
}

func notBare(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-':
		return false
	default:
		return true
	}
}

// Close closes the granted databases and directories, each once, forgets what was kept, and joins their errors.
func (s *Set) Close() error {
	var errs []error
	s.keeper.close()
	if s.web != nil {
		errs = append(errs, s.web.Close())
	}
	for _, name := range s.Databases() {
		if err := s.databases[name].Close(); err != nil {
			errs = append(errs, fmt.Errorf("closing database %q of plugin %q: %w", name, s.plugin, err))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(s.files)) {
		if err := s.files[path].Close(); err != nil {
			errs = append(errs, fmt.Errorf("closing directory %q of plugin %q: %w", path, s.plugin, err))
		}
	}
	return errors.Join(errs...)
}
