package outbound

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// grant is one address that a plugin may send to, with what lies below it.
type grant struct {
	scheme, host, port string
	path               string // without a slash at its end
}

// ParseGrant checks one address of a grant: https://host:port/prefix, and returns it in its canonical form.
func ParseGrant(text string) (string, error) {
	g, err := parseGrant(text)
	if err != nil {
		return "", err
	}
	return g.String(), nil
}

// GrantHost returns the host of an address that ParseGrant accepts, else "".
func GrantHost(text string) string {
	g, err := parseGrant(text)
	if err != nil {
		return ""
	}
	return g.host
}

func (g grant) String() string { return g.scheme + "://" + net.JoinHostPort(g.host, g.port) + g.path }

func parseGrant(text string) (grant, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return grant{}, errors.New("it is no URL")
	case u.Scheme != "https" && u.Scheme != "http":
		return grant{}, errors.New("it does not begin with https:// or http://")
	case u.Hostname() == "":
		return grant{}, errors.New("it names no host")
	case u.User != nil:
		return grant{}, errors.New("it has a user; put credentials into [secrets]")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return grant{}, errors.New("it has a query or a fragment; what is granted is a beginning of the path")
	case strings.Contains(u.Hostname(), "*"):
		return grant{}, errors.New("hosts are granted one by one, without a *")
	}
	if err := checkPath(u); err != nil {
		return grant{}, err
	}
	return grant{scheme: u.Scheme, host: canonicalHost(u.Hostname()), port: portOf(u), path: strings.TrimRight(u.EscapedPath(), "/")}, nil
}

// canonicalHost writes a name in small letters and an address in its shortest form.
func canonicalHost(host string) string {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap().String()
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

func portOf(u *url.URL) string {
	if port := u.Port(); port != "" {
		return port
	}
	if u.Scheme == "http" {
		return "80"
	}
	return "443"
}

// checkPath refuses a path of which two readers could think differently.
func checkPath(u *url.URL) error {
	for segment := range strings.SplitSeq(u.Path, "/") {
		if segment == ".." || segment == "." {
			return errors.New("its path leads elsewhere (a segment is . or ..)")
		}
	}
	escaped := strings.ToLower(u.EscapedPath())
	if strings.Contains(escaped, "%2f") || strings.Contains(escaped, "%5c") || strings.ContainsAny(u.Path, "\\\x00") {
		return errors.New("its path has an encoded slash, a backslash or a NUL")
	}
	return nil
}

// covers says whether a request to u lies below the grant.
func (g grant) covers(u *url.URL) bool {
	if u.Scheme != g.scheme || canonicalHost(u.Hostname()) != g.host || portOf(u) != g.port {
		return false
	}
	path := u.EscapedPath()
	return path == g.path || strings.HasPrefix(path, g.path+"/") || g.path == ""
}

// DeniedError is a request that the grants don't cover.
type DeniedError struct{ Reason string }

// Error returns the reason.
func (e *DeniedError) Error() string { return e.Reason }

func deniedf(format string, args ...any) error {
	return &DeniedError{Reason: fmt.Sprintf(format, args...)}
}

// Permits returns nil when a request to u may be sent.
func (c *Client) Permits(u *url.URL) error {
	if u.User != nil || u.Opaque != "" || u.Fragment != "" {
		return deniedf("an address has no user and no fragment")
	}
	if err := checkPath(u); err != nil {
		return deniedf("the address %s can't be used: %v", origin(u), err)
	}
	if slices.ContainsFunc(c.grants, func(g grant) bool { return g.covers(u) }) {
		return nil
	}
	return deniedf("%s%s is not granted", origin(u), u.EscapedPath())
}

// origin is what of an address may be told: its query could say too much.
func origin(u *url.URL) string { return u.Scheme + "://" + u.Host }
