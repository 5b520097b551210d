package jail

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/landlock-lsm/go-landlock/landlock"
)

// rootRules let everything below the sandbox's own root through. What they
// stop is the rest: changing mounts, and files that are reached from outside
// the root through a descriptor.
func rootRules() []landlock.Rule {
	return []landlock.Rule{landlock.RWDirs("/").WithRefer().WithIoctlDev()}
}

// Programs and libraries that a reduced sandbox may read.
func systemDirs() []string {
	return []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix", "/gnu", "/proc", "/sys"}
}

// reducedRules leave the system's programs, the harmless part of /etc, a few
// devices and the sandbox's own directory.
func reducedRules(dir string) ([]landlock.Rule, error) {
	var etcDirs, etcFiles []string
	entries, err := os.ReadDir("/etc")
	if err != nil {
		return nil, fmt.Errorf("reading /etc: %w", err)
	}
	for _, e := range entries {
		path := filepath.Join("/etc", e.Name())
		st, err := os.Stat(path)
		if err != nil || IsSecret(path) || st.Mode()&0o004 == 0 {
			continue
		}
		if st.IsDir() {
			etcDirs = append(etcDirs, path)
			continue
		}
		etcFiles = append(etcFiles, path)
	}
	return []landlock.Rule{
		landlock.RODirs(systemDirs()...).IgnoreIfMissing(),
		landlock.RODirs(etcDirs...).IgnoreIfMissing(),
		landlock.ROFiles(etcFiles...).IgnoreIfMissing(),
		landlock.RWFiles("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty").IgnoreIfMissing(),
		landlock.RWDirs(dir).WithRefer().WithIoctlDev(),
	}, nil
}

// restrictPaths applies the rules with what this kernel has; no rule is ever
// dropped, only kinds of access that it can't check. With alone the process
// may also not signal others or reach their abstract sockets, where the
// kernel can stop that.
func restrictPaths(rules []landlock.Rule, alone bool) error {
	cfg := landlock.V6.BestEffort()
	if err := cfg.RestrictPaths(rules...); err != nil {
		return fmt.Errorf("restricting paths: %w", err)
	}
	if alone {
		if err := cfg.RestrictScoped(); err != nil {
			return fmt.Errorf("restricting signals and abstract sockets: %w", err)
		}
	}
	return nil
}
