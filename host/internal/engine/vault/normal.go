package vault

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// The types of Auth.
const (
	authBearer      = "bearer"
	authBasic       = "basic"
	authAPIKey      = "apiKey"
	authHeaders     = "customHeaders"
	authPassthrough = "passthrough"
)

// sourceInline is the only type of source.
const sourceInline = "inline"

// The ports that are intercepted.
const (
	portHTTP  = 80
	portHTTPS = 443
)

var (
	token = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+\\-.^_`|~]+$")
	label = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
)

// reserved tells the headers that are not anybody's to set.
func reserved(name string) bool {
	switch strings.ToLower(name) {
	case "host", "content-length", "content-type", "transfer-encoding", "connection", "upgrade", "te", "trailer",
		"proxy-authorization", "proxy-authenticate", "forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto":
		return true
	}
	return false
}

func (c Credential) normal() (Credential, error) {
	if c.Name = strings.TrimSpace(c.Name); c.Name == "" {
		return c, errors.New("credential name cannot be blank")
	}
	if c.Source.Type == "" {
		c.Source.Type = sourceInline
	}
	if c.Source.Type != sourceInline {
		return c, fmt.Errorf("credential %q: unsupported source type %q", c.Name, c.Source.Type)
	}
	if c.Source.Value == "" {
		return c, fmt.Errorf("credential %q: inline source requires a value", c.Name)
	}
	return c, nil
}

func (b Binding) normal() (Binding, error) {
	if b.Name = strings.TrimSpace(b.Name); b.Name == "" {
		return b, errors.New("binding name cannot be blank")
	}
	err := b.Match.normalise()
	if err == nil {
		err = b.Auth.normalise()
	}
	if err != nil {
		return b, fmt.Errorf("binding %q: %w", b.Name, err)
	}
	return b, nil
}

func (m *Match) normalise() error {
	if len(m.Hosts) == 0 {
		return errors.New("match.hosts cannot be empty")
	}
	if len(m.Schemes) == 0 {
		m.Schemes = []string{"https"}
	}
	if len(m.Methods) == 0 {
		m.Methods = []string{"GET", "POST", "PUT", "PATCH", "DELETE"}
	}
	if len(m.Paths) == 0 {
		m.Paths = []string{"/*"}
	}
	var err error
	if m.Schemes, err = each(m.Schemes, normalScheme); err != nil {
		return err
	}
	if m.Hosts, err = each(m.Hosts, normalHost); err != nil {
		return err
	}
	if m.Methods, err = each(m.Methods, normalMethod); err != nil {
		return err
	}
	if m.Paths, err = each(m.Paths, normalPath); err != nil {
		return err
	}
	if len(m.Ports) == 0 {
		for _, s := range m.Schemes {
			m.Ports = append(m.Ports, schemePort(s))
		}
	}
	for _, p := range m.Ports {
		if p != portHTTP && p != portHTTPS {
			return fmt.Errorf("port %d is not intercepted: only %d and %d are", p, portHTTP, portHTTPS)
		}
	}
	m.Ports = unique(m.Ports)
	return nil
}

func schemePort(scheme string) int {
	if scheme == "http" {
		return portHTTP
	}
	return portHTTPS
}

// each makes every text normal, and keeps each once.
func each(in []string, f func(string) (string, error)) ([]string, error) {
	out := make([]string, 0, len(in))
	for _, s := range in {
		n, err := f(strings.TrimSpace(s))
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return unique(out), nil
}

// unique keeps the first of equals.
func unique[T comparable](in []T) []T {
	out := make([]T, 0, len(in))
	seen := make(map[T]bool, len(in))
	for _, v := range in {
		if !seen[v] {
			seen[v] = true
			out = append(out, v)
		}
	}
	return out
}

func normalScheme(s string) (string, error) {
	if s = strings.ToLower(s); s != "http" && s != "https" {
		return "", fmt.Errorf("unsupported scheme %q", s)
	}
	return s, nil
}

func normalMethod(s string) (string, error) {
	if s = strings.ToUpper(s); !token.MatchString(s) {
		return "", fmt.Errorf("invalid method %q", s)
	}
	return s, nil
}

func normalPath(s string) (string, error) {
	if !strings.HasPrefix(s, "/") {
		return "", errors.New("path pattern must start with /")
	}
	return s, nil
}

func normalHost(s string) (string, error) {
	host := strings.ToLower(strings.TrimSuffix(s, "."))
	name, _ := strings.CutPrefix(host, "*.")
	switch {
	case host == "":
		return "", errors.New("host cannot be blank")
	case strings.Contains(host, "/"):
		return "", fmt.Errorf("host %q must not include scheme or path", host)
	case strings.Contains(name, "*"):
		return "", fmt.Errorf("invalid wildcard host %q", host)
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return "", fmt.Errorf("credential binding host %q must be an FQDN, not an IP address", host)
	}
	if len(name) > 253 || !strings.Contains(name, ".") || slices.ContainsFunc(strings.Split(name, "."), func(l string) bool { return !label.MatchString(l) }) {
		return "", fmt.Errorf("credential binding host %q must be an FQDN", host)
	}
	return host, nil
}

// normalise makes it normal, or tells what is wrong.
func (a *Auth) normalise() error {
	a.Type = strings.TrimSpace(a.Type)
	var err error
	switch a.Type {
	case authBearer, authBasic:
		a.Credential, err = needed(a.Credential, a.Type)
	case authAPIKey:
		if a.Name, err = normalHeader(a.Name); err == nil {
			a.Credential, err = needed(a.Credential, a.Type)
		}
	case authHeaders:
		err = normaliseHeaders(a.Headers)
	case authPassthrough:
	default:
		return fmt.Errorf("unsupported auth type %q", a.Type)
	}
	for i := range a.Substitutions {
		if err == nil {
			if err = a.Substitutions[i].normalise(); err != nil {
				err = fmt.Errorf("substitution %d %w", i, err)
			}
		}
	}
	return err
}

func needed(credential, kind string) (string, error) {
	if credential = strings.TrimSpace(credential); credential == "" {
		return "", fmt.Errorf("%s auth requires credential", kind)
	}
	return credential, nil
}

func normaliseHeaders(headers []Header) error {
	if len(headers) == 0 {
		return errors.New("customHeaders auth requires headers")
	}
	seen := map[string]bool{}
	for i := range headers {
		h := &headers[i]
		var err error
		if h.Name, err = normalHeader(h.Name); err != nil {
			return err
		}
		if seen[h.Name] {
			return fmt.Errorf("duplicate custom header name %q", h.Name)
		}
		seen[h.Name] = true
		if h.Credential = strings.TrimSpace(h.Credential); h.Credential == "" {
			return fmt.Errorf("customHeaders entry %q requires credential", h.Name)
		}
	}
	return nil
}

func normalHeader(name string) (string, error) {
	name = http.CanonicalHeaderKey(strings.TrimSpace(name))
	if !token.MatchString(name) {
		return "", fmt.Errorf("invalid credential header name %q", name)
	}
	if reserved(name) {
		return "", fmt.Errorf("reserved credential header name %q", name)
	}
	return name, nil
}

func (s *Substitution) normalise() error {
	if s.Credential = strings.TrimSpace(s.Credential); s.Credential == "" {
		return errors.New("requires credential")
	}
	if s.Placeholder = strings.TrimSpace(s.Placeholder); s.Placeholder == "" {
		return errors.New("requires placeholder")
	}
	if len(s.In) == 0 {
		return errors.New("requires at least one target surface")
	}
	var err error
	s.In, err = each(s.In, func(surface string) (string, error) {
		surface = strings.ToLower(surface)
		if !slices.Contains([]string{InPath, InQuery, InHeader, InBody}, surface) {
			return "", fmt.Errorf("has unsupported target surface %q", surface)
		}
		return surface, nil
	})
	return err
}

// credentials are the names that it refers to.
func (a *Auth) credentials() []string {
	var names []string
	if a.Credential != "" && a.Type != authHeaders && a.Type != authPassthrough {
		names = append(names, a.Credential)
	}
	if a.Type == authHeaders {
		for _, h := range a.Headers {
			names = append(names, h.Credential)
		}
	}
	for _, s := range a.Substitutions {
		names = append(names, s.Credential)
	}
	return names
}
