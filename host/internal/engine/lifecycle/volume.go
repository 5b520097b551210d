package lifecycle

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/alineo-labs/alineo-host/host/internal/engine/jail"
)

// volumeRequest is one volume of a request.
type volumeRequest struct {
	name, mountPath, subPath string
	host                     string // "" for the other kinds
	claim                    string // a named volume; "" for the other kinds
	create, endsWith         bool   // make the claim if it isn't there; and remove it with the sandbox
	kind                     string // host, pvc or ossfs
	readOnly                 bool
}

var (
	volumeName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	mountPath  = regexp.MustCompile(`^/.*`)
	hostPath   = regexp.MustCompile(`^(/|[A-Za-z]:[\\/])`)
	capacity   = regexp.MustCompile(`^\d+(\.\d+)?(Ki|Mi|Gi|Ti|Pi|Ei)?$`)
	bucketName = regexp.MustCompile(`(?s)^.{3,}$`)
)

// readVolume reads what the schema says of one.
func readVolume(b body) volumeRequest {
	v := volumeRequest{name: b.required("name"), mountPath: b.required("mountPath"), subPath: b.text("subPath"), readOnly: b.boolean("readOnly")}
	b.shaped("name", v.name, volumeName, 63)
	b.shaped("mountPath", v.mountPath, mountPath, 0)
	if h, ok := b.object("host"); ok {
		v.kind, v.host = "host", h.required("path")
		h.shaped("path", v.host, hostPath, 0)
	}
	if p, ok := b.object("pvc"); ok {
		v.kind = "pvc"
		v.claim = p.required("claimName")
		p.shaped("claimName", v.claim, volumeName, 253)
		p.shaped("storage", p.text("storage"), capacity, 0)
		v.create = p.boolean("createIfNotExists") || !p.has("createIfNotExists")
		v.endsWith = p.boolean("deleteOnSandboxTermination")
		p.texts("accessModes", 0)
		p.text("storageClass")
	}
	if o, ok := b.object("ossfs"); ok {
		v.kind = "ossfs"
		readBucket(o)
	}
	n := 0
	for _, backend := range []string{"host", "pvc", "ossfs"} {
		if b.has(backend) {
			n++
		}
	}
	switch {
	case n == 0:
		b.wrong("Exactly one backend (host, pvc, ossfs) must be specified, but none was provided.")
	case n > 1:
		b.wrong("Exactly one backend (host, pvc, ossfs) must be specified, but multiple were provided.")
	}
	return v
}

func readBucket(o body) {
	bucket := o.required("bucket")
	if _, ok := o.fields["bucket"].(string); ok && !bucketName.MatchString(bucket) {
		o.fault("string_too_short", "String should have at least 3 characters", bucket, map[string]int{"min_length": 3}, "bucket")
	}
	o.required("endpoint")
	o.oneOf("version", o.text("version"), "1.0", "2.0")
	o.texts("options", 0)
	if o.text("accessKeyId") == "" || o.text("accessKeySecret") == "" {
		// The object holds keys: the answer must not repeat it.
		o.fault("value_error", "Value error, OSSFS inline credentials are required: accessKeyId and accessKeySecret.", map[string]any{}, map[string]any{"error": map[string]any{}})
	}
}

// checkVolumes applies the rules that the schema doesn't have.
func checkVolumes(all []volumeRequest) error {
	names := map[string]bool{}
	targets := map[string]string{}
	for _, v := range all {
		bad := func(code, format string, args ...any) error {
			return problem(http.StatusBadRequest, code, "Volume '%s': %s", v.name, fmt.Sprintf(format, args...))
		}
		target := filepath.Clean(v.mountPath)
		switch {
		case names[v.name]:
			return problem(http.StatusBadRequest, codeDuplicateVolume, "Duplicate volume name '%s' found. Each volume must have a unique name.", v.name)
		case strings.ContainsRune(v.mountPath, 0) || slices.Contains(strings.Split(v.mountPath, "/"), ".."):
			return bad(codeMountPath, "mountPath '%s' must not contain '..'.", v.mountPath)
		case !jail.Mountable(target):
			return bad(codeMountPath, "mountPath '%s' is the sandbox's own: choose one that is not / nor below /proc, /sys or /dev.", v.mountPath)
		case targets[target] != "":
			return bad(codeMountPath, "mountPath '%s' is taken by volume '%s'.", v.mountPath, targets[target])
		case strings.HasPrefix(v.subPath, "/"):
			return bad(codeSubPath, "subPath '%s' must be a relative path.", v.subPath)
		case strings.ContainsRune(v.subPath, 0) || slices.Contains(strings.Split(v.subPath, "/"), ".."):
			return bad(codeSubPath, "subPath '%s' must not contain '..'.", v.subPath)
		case v.kind == "ossfs":
			return bad(codeVolumeBackend, "this engine has no volumes of kind ossfs, only host and pvc.")
		}
		names[v.name], targets[target] = true, v.name
	}
	return nil
}

// openVolumes finds the volumes' directories, and makes those that aren't
// there, as the original does.
func (m *Manager) openVolumes(all []volumeRequest) ([]jail.Volume, error) {
	if len(all) > 0 && !m.isolated() {
		return nil, problem(http.StatusBadRequest, codeVolumeBackend, "this engine runs with %s isolation, in which nothing can be mounted: volumes need namespaces", m.opts.Level)
	}
	out := make([]jail.Volume, 0, len(all))
	for _, v := range all {
		found, err := m.openVolume(v)
		if err != nil {
			return nil, err
		}
		out = append(out, found)
	}
	return out, nil
}

func (m *Manager) openVolume(v volumeRequest) (jail.Volume, error) {
	if v.kind == "pvc" {
		return m.openClaim(v)
	}
	bad := func(code, format string, args ...any) (jail.Volume, error) {
		return jail.Volume{}, problem(http.StatusBadRequest, code, "Volume '%s': %s", v.name, fmt.Sprintf(format, args...))
	}
	host := filepath.Clean(v.host)
	if !filepath.IsAbs(v.host) || strings.ContainsRune(v.host, 0) || host != strings.TrimRight(v.host, "/") && v.host != "/" {
		return bad(codeInvalidHostPath, "host path '%s' must be absolute and must not contain '..', '.' or '//'.", v.host)
	}
	if len(m.opts.HostPaths) == 0 {
		return bad(codeHostPath, "host path volumes are not allowed: no allowed host paths are configured")
	}
	root, ok := m.allowedRoot(host)
	if !ok {
		return bad(codeHostPath, "host path '%s' is not under any allowed prefix.", v.host)
	}
	rel, err := filepath.Rel(root, host)
	if err != nil {
		return bad(codeInvalidHostPath, "host path '%s': %v", v.host, err)
	}
	found := v.below(root, rel)
	st, err := statBelow(root, found.Path)
	switch {
	case escapes(err):
		return bad(codeHostPath, "host path '%s' leads out of the allowed prefix '%s' through a symbolic link.", filepath.Join(host, v.subPath), root)
	case err != nil:
		return jail.Volume{}, problem(http.StatusInternalServerError, codeHostPathCreate, "Volume '%s': could not ensure host path directory exists at '%s': %v", v.name, filepath.Join(host, v.subPath), err)
	case st.Mode().IsRegular():
		found.File = true
	case !st.IsDir():
		return bad(codeInvalidHostPath, "host path '%s' is neither a directory nor a file.", filepath.Join(host, v.subPath))
	}
	return found, nil
}

// openClaim finds a named volume, which is there and stays.
func (m *Manager) openClaim(v volumeRequest) (jail.Volume, error) {
	found := v.below(m.path(volumesDir, v.claim, claimData), ".")
	st, err := statBelow(found.Root, found.Path)
	switch {
	case escapes(err):
		return found, problem(http.StatusBadRequest, codeSubPath, "Volume '%s': subPath '%s' leads out of the volume through a symbolic link.", v.name, v.subPath)
	case err != nil:
		return found, problem(http.StatusInternalServerError, codeClaimInspect, "Volume '%s': could not ensure that '%s' exists in named volume '%s': %v", v.name, found.Path, v.claim, err)
	case !st.IsDir() && !st.Mode().IsRegular():
		return found, problem(http.StatusBadRequest, codeSubPath, "Volume '%s': subPath '%s' is neither a directory nor a file.", v.name, v.subPath)
	}
	found.File = !st.IsDir()
	return found, nil
}

// below is the volume of what rel and the subPath name below root.
func (v volumeRequest) below(root, rel string) jail.Volume {
	return jail.Volume{Name: v.name, Root: root, Path: filepath.Join(rel, v.subPath), Target: filepath.Clean(v.mountPath), ReadOnly: v.readOnly}
}

// escapes tells that a link leads out of the root of an os.Root, for which that has no error of its own.
func escapes(err error) bool {
	return err != nil && strings.Contains(err.Error(), "path escapes from parent")
}

// allowedRoot is the longest allowed directory that path is in.
func (m *Manager) allowedRoot(path string) (root string, ok bool) {
	for _, p := range m.opts.HostPaths {
		p = filepath.Clean(p)
		if path != p && !strings.HasPrefix(path, strings.TrimSuffix(p, "/")+"/") {
			continue
		}
		if len(p) > len(root) {
			root, ok = p, true
		}
	}
	return root, ok
}

// statBelow looks at what is below root, and makes it a directory if nothing
// is there. No link leads out of root.
func statBelow(root, path string) (fs.FileInfo, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	st, err := r.Stat(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return st, err
	}
	if err := r.MkdirAll(path, 0o755); err != nil {
		return nil, err
	}
	return r.Stat(path)
}
