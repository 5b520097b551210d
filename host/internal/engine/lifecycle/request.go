package lifecycle

import (
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alineo-labs/alineo-host/host/internal/engine/cgroup"
	"github.com/alineo-labs/alineo-host/host/internal/engine/egress"
)

// createRequest is a valid POST /sandboxes.
type createRequest struct {
	image      string
	username   string // for the image's registry
	password   string
	snapshotID string
	entrypoint []string
	timeout    time.Duration // 0 is none
	limits     cgroup.Limits
	disk       int64 // bytes that files may take; 0 is the engine's limit
	env        map[string]string
	metadata   map[string]string
	platform   *wirePlatform
	renewBy    time.Duration // 0 is no renewal on access
	volumes    []volumeRequest
	policy     *egress.Policy // nil: none was given
	// credentials asks for a credential proxy, which needs a policy.
	credentials bool
}

// minTimeout is the shortest time to live that the wire allows.
const minTimeout = 60

// parseCreate reads the request: first what the original's schema says (422),
// then what its services do (400).
func parseCreate(b body) (createRequest, error) {
	var q createRequest
	q.schema(b)
	rules := &ruleSet{}
	rules.read(b)
	if err := b.err(); err != nil {
		return q, err
	}
	q.together(b)
	if rules.credentials && !b.has("networkPolicy") {
		b.wrong("credentialProxy requires networkPolicy")
	}
	if err := b.err(); err != nil {
		return q, err
	}
	if err := rules.check(); err != nil {
		return q, err
	}
	if err := validMetadata(q.metadata); err != nil {
		return q, err
	}
	var err error
	if q.renewBy, err = parseRenewBy(rules.extend); err != nil {
		return q, err
	}
	q.platform = rules.platform
	q.volumes = rules.volumes
	q.policy, q.credentials = rules.policy, rules.credentials
	return q, checkVolumes(q.volumes)
}

func (q *createRequest) schema(b body) {
	if img, ok := b.object("image"); ok {
		q.image = img.required("uri")
		if _, there := img.fields["uri"]; there && strings.TrimSpace(q.image) == "" && img.has("uri") {
			img.fault("value_error", "Value error, image.uri must not be blank", q.image, map[string]any{"error": map[string]any{}}, "uri")
		}
		if auth, ok := img.object("auth"); ok {
			q.username, q.password = auth.required("username"), auth.required("password")
		}
	}
	q.snapshotID = b.text("snapshotId")
	q.entrypoint = b.texts("entrypoint", 1)
	q.env = b.pairs("env", true)
	q.metadata = b.pairs("metadata", false)
	if n, ok := b.integer("timeout"); ok {
		if n < minTimeout {
			b.fault("greater_than_equal", "Input should be greater than or equal to 60", n, map[string]int{"ge": minTimeout}, "timeout")
		}
		q.timeout = time.Duration(min(n, int64(maxLife/time.Second))) * time.Second
	}
	limits := b.pairs("resourceLimits", false)
	q.limits = parseLimits(limits)
	q.disk, _ = parseBytes(limits["ephemeral-storage"])
}

// together checks the fields against each other, once each is right.
func (q *createRequest) together(b body) {
	pool := poolRef(b)
	hasImage, hasSnapshot := b.has("image"), b.has("snapshotId")
	switch {
	case pool && hasSnapshot:
		b.wrong("snapshotId cannot be used with poolRef")
	case pool:
	case hasImage == hasSnapshot:
		b.wrong("Exactly one of image or snapshotId must be provided")
	case hasSnapshot && strings.TrimSpace(q.snapshotID) == "":
		b.wrong("snapshotId must not be blank")
	case !b.has("resourceLimits"):
		b.wrong("resourceLimits is required")
	case hasImage && !b.has("entrypoint"):
		b.wrong("entrypoint is required when image is provided")
	}
	if hasSnapshot && q.entrypoint == nil {
		q.entrypoint = []string{"tail", "-f", "/dev/null"}
	}
}

// maxLife keeps times to live within what a time can hold.
const maxLife = 100 * 365 * 24 * time.Hour

func poolRef(b body) bool {
	ext, ok := b.fields["extensions"].(map[string]any)
	return ok && ext["poolRef"] != nil
}

// ruleSet holds what is checked after the schema.
type ruleSet struct {
	pool, secure, credentials bool
	extend                    string
	policy                    *egress.Policy
	platform                  *wirePlatform
	volumes                   []volumeRequest
}

func (s *ruleSet) read(b body) {
	ext := b.pairs("extensions", false)
	_, s.pool = ext["poolRef"]
	s.extend = ext["access.renew.extend.seconds"]
	s.secure = b.boolean("secureAccess")
	if p, ok := b.object("platform"); ok {
		s.platform = &wirePlatform{OS: p.required("os"), Arch: p.required("arch")}
		p.oneOf("os", s.platform.OS, "linux", "windows")
		p.oneOf("arch", s.platform.Arch, "amd64", "arm64")
	}
	if p, ok := b.object("networkPolicy"); ok {
		s.readPolicy(p)
	}
	if c, ok := b.object("credentialProxy"); ok {
		s.credentials = c.boolean("enabled")
	}
	for _, v := range b.objects("volumes") {
		s.volumes = append(s.volumes, readVolume(v))
	}
}

// readPolicy reads a policy. An empty one allows everything, as one that is not there does; one with
// rules denies what they don't name.
func (s *ruleSet) readPolicy(p body) {
	action := p.text("defaultAction")
	p.oneOf("defaultAction", action, "", "allow", "deny")
	s.policy = &egress.Policy{DefaultAction: action}
	for _, rule := range p.objects("egress") {
		a := rule.required("action")
		rule.oneOf("action", a, "allow", "deny")
		s.policy.Egress = append(s.policy.Egress, egress.Rule{Action: a, Target: rule.required("target")})
	}
	switch {
	case action != "":
	case len(s.policy.Egress) == 0:
		s.policy.DefaultAction = egress.Allow
	default:
		s.policy.DefaultAction = egress.Deny
	}
}

func (b body) oneOf(key, value string, allowed ...string) {
	if _, ok := b.fields[key].(string); !ok {
		return // absent, or a fault already
	}
	if slices.Contains(allowed, value) {
		return
	}
	quoted := make([]string, 0, len(allowed))
	for _, a := range allowed {
		if a != "" {
			quoted = append(quoted, "'"+a+"'")
		}
	}
	expected := strings.Join(quoted, " or ")
	b.fault("literal_error", "Input should be "+expected, value, map[string]string{"expected": expected}, key)
}

func (s *ruleSet) check() error {
	bad := func(format string, args ...any) error {
		return problem(http.StatusBadRequest, codeInvalidParameter, format, args...)
	}
	switch {
	case s.pool:
		return problem(http.StatusBadRequest, codeUnsupportedPool, "extensions.poolRef needs a Kubernetes runtime")
	case s.secure:
		return bad("secureAccess needs a Kubernetes runtime with an ingress gateway")
	case s.platform != nil && (s.platform.OS != "linux" || s.platform.Arch != runtime.GOARCH):
		return bad("platform %s/%s is not available here: this machine runs linux/%s", s.platform.OS, s.platform.Arch, runtime.GOARCH)
	}
	return nil
}

// parseRenewBy reads the extension that makes requests through the proxy
// renew the sandbox.
func parseRenewBy(v string) (time.Duration, error) {
	if v == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(strings.TrimSpace(v))
	if err != nil || n < 300 || n > 86400 {
		return 0, problem(http.StatusBadRequest, codeInvalidParameter, "extensions[\"access.renew.extend.seconds\"] must be an integer between 300 and 86400, got %q", v)
	}
	return time.Duration(n) * time.Second, nil
}
