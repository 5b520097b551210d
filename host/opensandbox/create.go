package opensandbox

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Image names what a sandbox is made of.
type Image struct {
	URI  string     `json:"uri"`
	Auth *ImageAuth `json:"auth,omitempty"`
}

// ImageAuth is what a private registry asks for. It prints as nothing but that it is there.
type ImageAuth struct {
	Username string `json:"username"`
	Password string `json:"password"`
}

// String keeps the password out of whatever is printed.
func (ImageAuth) String() string { return "[redacted]" }

// GoString is String, for %#v.
func (a ImageAuth) GoString() string { return a.String() }

// Platform is what a sandbox runs on. Both fields are needed.
type Platform struct {
	OS   string `json:"os"`   // linux or windows
	Arch string `json:"arch"` // amd64 or arm64
}

// CredentialProxy asks for a sidecar that puts credentials into requests. It needs a network policy.
type CredentialProxy struct {
	Enabled bool `json:"enabled"`
}

// CreateRequest asks for a sandbox, from an image or from a snapshot; or from a pool, which
// Extensions name as poolRef.
type CreateRequest struct {
	Image      *Image   `json:"image,omitempty"`
	SnapshotID string   `json:"snapshotId,omitempty"`
	Entrypoint []string `json:"entrypoint,omitempty"` // required with Image
	// Timeout is the sandbox's life in seconds, 60 or more; 0 never expires.
	Timeout int `json:"timeout,omitempty"`
	// ResourceLimits are such as cpu "500m", memory "512Mi", gpu "1" or "all". Servers ignore what
	// they can't read.
	ResourceLimits  map[string]string `json:"resourceLimits,omitempty"`
	Env             map[string]string `json:"env,omitempty"`
	Metadata        map[string]string `json:"metadata,omitempty"` // Kubernetes label rules
	NetworkPolicy   *NetworkPolicy    `json:"networkPolicy,omitempty"`
	CredentialProxy *CredentialProxy  `json:"credentialProxy,omitempty"`
	// SecureAccess asks for a token on every connection; only some gateways have it. The token comes
	// with the endpoint.
	SecureAccess bool              `json:"secureAccess,omitempty"`
	Volumes      []Volume          `json:"volumes,omitempty"`
	Platform     *Platform         `json:"platform,omitempty"`
	Extensions   map[string]string `json:"extensions,omitempty"`
}

const (
	extensionPool = "poolRef"

	// Control servers answer 422 below this many seconds.
	minLifetime = 60

	maxLabelName   = 63
	maxLabelPrefix = 253
	reservedPrefix = "opensandbox.io/"
)

// check refuses what every server would refuse, with all that is wrong at once. It leaves alone what
// is for the server to know, such as its longest lifetime or its images.
func (r *CreateRequest) check() error {
	var problems []error
	wrong := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	pooled := r.Extensions[extensionPool] != ""
	switch {
	case pooled && r.SnapshotID != "":
		wrong("a pool's sandbox can't be made from a snapshot")
	case !pooled && (r.Image == nil) == (r.SnapshotID == ""):
		wrong("want an image or a snapshot id, and not both")
	case r.Image != nil && strings.TrimSpace(r.Image.URI) == "":
		wrong("the image has no uri")
	}
	if r.Timeout != 0 && r.Timeout < minLifetime {
		wrong("a lifetime of %d s is shorter than the least that servers accept, %d s", r.Timeout, minLifetime)
	}
	if r.CredentialProxy != nil && r.CredentialProxy.Enabled {
		if r.NetworkPolicy == nil {
			wrong("a credential proxy needs a network policy")
		}
		if pooled {
			wrong("a credential proxy can't be added to a pool's sandbox")
		}
	}
	if r.Platform != nil && (r.Platform.OS == "" || r.Platform.Arch == "") {
		wrong("a platform needs both os and arch, not %q and %q", r.Platform.OS, r.Platform.Arch)
	}
	if r.NetworkPolicy != nil {
		problems = append(problems, r.NetworkPolicy.check())
	}
	problems = append(problems, checkLabels(r.Metadata), checkVolumes(r.Volumes))
	if err := errors.Join(problems...); err != nil {
		return fmt.Errorf("%w: %s", ErrInvalid, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return nil
}

// checkLabels applies the rules for Kubernetes labels, which metadata has to obey.
func checkLabels(labels map[string]string) error {
	var problems []error
	for _, key := range sortedKeys(labels) {
		if err := checkLabelKey(key); err != nil {
			problems = append(problems, err)
		}
		if value := labels[key]; value != "" && !isLabel(value) {
			problems = append(problems, fmt.Errorf("metadata %q: the value %q is no label: want at most %d of letters, digits, - _ . with a letter or digit at both ends",
				key, value, maxLabelName))
		}
	}
	return errors.Join(problems...)
}

func checkLabelKey(key string) error {
	if strings.HasPrefix(key, reservedPrefix) {
		return fmt.Errorf("metadata %q: keys below %s are the server's own", key, reservedPrefix)
	}
	name := key
	if prefix, rest, ok := strings.Cut(key, "/"); ok {
		if len(prefix) > maxLabelPrefix || !regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`).MatchString(prefix) {
			return fmt.Errorf("metadata %q: what is before the / is no DNS name", key)
		}
		name = rest
	}
	if !isLabel(name) {
		return fmt.Errorf("metadata %q: the key is no label: want 1 to %d of letters, digits, - _ . with a letter or digit at both ends", key, maxLabelName)
	}
	return nil
}

func isLabel(s string) bool {
	if s == "" || len(s) > maxLabelName || !isAlphanumeric(s[0]) || !isAlphanumeric(s[len(s)-1]) {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r > 0x7f || !isAlphanumeric(byte(r)) && r != '-' && r != '_' && r != '.'
	})
}

func isAlphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
