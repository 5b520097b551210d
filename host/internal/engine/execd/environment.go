//go:build unix

package execd

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
)

// newID makes the id of an execution: 32 hex digits.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return hex.EncodeToString(b[:])
}

// findShell looks for bash, then sh, in a PATH.
func findShell(path string) string {
	for _, name := range []string{"bash", "sh"} {
		if p := findProgram(path, name); p != "" {
			return p
		}
	}
	return "/bin/sh"
}

// findProgram looks for a program in a PATH; it is empty if there is none.
func findProgram(path, name string) string {
	for _, dir := range filepath.SplitList(path) {
		p := filepath.Join(dir, name)
		if st, err := os.Stat(p); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return p
		}
	}
	return ""
}

// program finds the first of several programs in the sandbox's PATH.
func (s *Server) program(names ...string) string {
	for _, name := range names {
		if p := findProgram(s.opts.Env["PATH"], name); p != "" {
			return p
		}
	}
	return ""
}

// missing says that what would run a language isn't there.
func (s *Server) missing(language string, names ...string) error {
	return fmt.Errorf("%s is not possible in this sandbox: its root file system has no %s (looked in PATH: %s); use an image that has it",
		language, strings.Join(names, " or "), s.opts.Env["PATH"])
}

// shellName is the shell's argv[0], which its own messages begin with.
func shellName(path string) string { return filepath.Base(path) }

// environ is the environment of a command: the sandbox's, then the file that
// EXECD_ENVS names, then the request's.
func (s *Server) environ(extra map[string]string) []string {
	all := make(map[string]string, len(s.opts.Env)+len(extra))
	maps.Copy(all, s.opts.Env)
	if path := s.opts.Env["EXECD_ENVS"]; path != "" {
		addEnvFile(path, all) // anew each time
	}
	maps.Copy(all, extra)
	env := make([]string, 0, len(all))
	for k, v := range all {
		if k == "" || strings.ContainsAny(k, "=\x00") || strings.Contains(v, "\x00") {
			continue
		}
		env = append(env, k+"="+v)
	}
	sort.Strings(env)
	return env
}

// lookPath finds the program that a command names: a name with a slash begins
// at the command's directory, any other is looked for in the command's PATH.
func lookPath(name string, attr *syscall.ProcAttr) (string, error) {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(attr.Dir, name)
		}
		return name, nil
	}
	path := ""
	for _, e := range attr.Env {
		if v, ok := strings.CutPrefix(e, "PATH="); ok {
			path = v
		}
	}
	if p := findProgram(path, name); p != "" {
		return p, nil
	}
	return "", fmt.Errorf("exec: %q: executable file not found in $PATH", name)
}

func (s *Server) tempDir() string {
	if d := s.opts.Env["TMPDIR"]; d != "" {
		return d
	}
	return "/tmp"
}

// path expands what the wire expands in every path ($NAME, ${NAME}, ~) and
// makes it absolute. A name that is not set is an error.
func (s *Server) path(p string) (string, error) {
	var missing []string
	out := os.Expand(p, func(name string) string {
		v, ok := s.opts.Env[name]
		if !ok {
			missing = append(missing, name)
		}
		return v
	})
	if len(missing) > 0 {
		return "", fmt.Errorf("undefined environment variable in path %q: %s", p, strings.Join(missing, ", "))
	}
	if out == "~" || strings.HasPrefix(out, "~/") {
		out = s.opts.Env["HOME"] + out[1:]
	}
	if strings.Contains(out, "\x00") {
		return "", fmt.Errorf("path %q contains a NUL", p)
	}
	if !filepath.IsAbs(out) {
		out = filepath.Join(s.opts.Dir, out)
	}
	return filepath.Clean(out), nil
}
