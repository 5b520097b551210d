package credential

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxName  = 256      // bytes
	maxValue = 64 << 10 // bytes
	maxHost  = 253      // bytes
	maxLabel = 63       // bytes
	maxList  = 64       // hosts, paths or headers of one binding
	maxPath  = 2048     // bytes
)

// ValidateName refuses a name that could not be bound. Its error wraps ErrInvalid.
func ValidateName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%w: the credential has no name", ErrInvalid)
	case len(name) > maxName:
		return fmt.Errorf("%w: the credential's name has %d bytes, %d are the most", ErrInvalid, len(name), maxName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || r == '/' }):
		return fmt.Errorf("%w: the credential's name %q has a slash, a control character or bytes that are no UTF-8", ErrInvalid, name)
	}
	return nil
}

// ValidateValue refuses a value that could not be put into a request by the injection. Its error wraps
// ErrInvalid and does not contain the value.
func ValidateValue(value Secret, injection Injection) error {
	text := value.Reveal()
	switch {
	case text == "":
		return fmt.Errorf("%w: the credential's value is empty", ErrInvalid)
	case len(text) > maxValue:
		return fmt.Errorf("%w: the credential's value has %d bytes, %d are the most", ErrInvalid, len(text), maxValue)
	case !utf8.ValidString(text):
		return fmt.Errorf("%w: the credential's value is no UTF-8 text", ErrInvalid)
	case injection.intoHeader() && strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
		return fmt.Errorf("%w: the credential's value has a line break or another control character, which can't be in a header", ErrInvalid)
	}
	return nil
}

func (i Injection) intoHeader() bool {
	return i.Type != TypeSubstitution || slices.Contains(i.In, InHeader)
}

// Validate returns all that is wrong with the binding, joined. The error wraps ErrInvalid.
func (b Binding) Validate() error {
	var problems []error
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if len(b.Hosts) == 0 {
		add("no host is named")
	}
	if len(b.Hosts) > maxList || len(b.Paths) > maxList {
		add("it has %d hosts and %d paths, %d of each are the most", len(b.Hosts), len(b.Paths), maxList)
	}
	for _, host := range b.Hosts {
		if why := badHost(host); why != "" {
			add("host %q %s", host, why)
		}
	}
	for _, path := range b.Paths {
		switch {
		case !strings.HasPrefix(path, "/"):
			add("path %q does not begin with a slash", path)
		case strings.Contains(strings.TrimSuffix(path, "*"), "*"):
			add("path %q has a star that is not at its end", path)
		case len(path) > maxPath || strings.ContainsFunc(path, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '?' || r == '#' }):
			add("path %q is too long, or has a blank, ? or #", path)
		}
	}
	for _, method := range b.Methods {
		if !slices.Contains([]string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"}, method) {
			add("method %q is not one of GET, POST, PUT, PATCH, DELETE, HEAD and OPTIONS", method)
		}
	}
	for _, scheme := range b.Schemes {
		if scheme != "https" && scheme != "http" {
			add("scheme %q is neither https nor http", scheme)
		}
	}
	for _, port := range b.Ports {
		if port < 1 || port > 65535 {
			add("port %d is not between 1 and 65535", port)
		}
	}
	problems = append(problems, b.Injection.check()...)
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("%w binding: %w", ErrInvalid, errors.Join(problems...))
}

func badHost(host string) string {
	name, _ := strings.CutPrefix(host, "*.")
	if name == "" || len(name) > maxHost {
		return "is empty or too long"
	}
	if strings.ContainsAny(name, "/:") {
		return "is not a bare name: leave scheme, port and path out"
	}
	if _, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		return "is an address; only names can be bound"
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(name, "."), ".") {
		if label == "" || len(label) > maxLabel || label[0] == '-' || label[len(label)-1] == '-' ||
			strings.ContainsFunc(label, func(r rune) bool { return !letterOrDigit(r) && r != '-' && r != '_' }) {
			return "is no host name and no *.domain"
		}
	}
	return ""
}

func (i Injection) check() []error {
	var problems []error
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	header := func(name string) {
		if why := badHeader(name); why != "" {
			add("header %q %s", name, why)
		}
	}
	if i.Type != TypeHeader && i.Header != "" || i.Type != TypeCustomHeaders && len(i.Headers) > 0 ||
		i.Type != TypeSubstitution && (i.Placeholder != "" || len(i.In) > 0) {
		add("the injection has fields that are not for its type %q", i.Type)
	}
	switch i.Type {
	case TypeHeader:
		header(i.Header)
	case TypeBearer, TypeBasic:
	case TypeSubstitution:
		if i.Placeholder == "" {
			add("a substitution needs a placeholder")
		}
		if len(i.In) == 0 {
			add("a substitution needs at least one part of the request: path, query, header or body")
		}
		for _, part := range i.In {
			if !slices.Contains([]string{InPath, InQuery, InHeader, InBody}, part) {
				add("%q is no part of a request: use path, query, header or body", part)
			}
		}
	case TypeCustomHeaders:
		if len(i.Headers) == 0 || len(i.Headers) > maxList {
			add("customHeaders has %d headers, between 1 and %d are wanted", len(i.Headers), maxList)
		}
		seen := make(map[string]struct{})
		for _, h := range i.Headers {
			header(h.Name)
			if _, twice := seen[strings.ToLower(h.Name)]; twice {
				add("header %q is named twice", h.Name)
			}
			seen[strings.ToLower(h.Name)] = struct{}{}
			if h.Credential != "" {
				if err := ValidateName(h.Credential); err != nil {
					problems = append(problems, err)
				}
			}
		}
	default:
		add("the injection's type %q is none of header, substitution, bearer, basic and customHeaders", i.Type)
	}
	return problems
}

// badHeader says why a credential can't be in a header. Those that decide where a request ends or
// goes are refused by the sidecar too.
func badHeader(name string) string {
	if name == "" {
		return "has no name"
	}
	for _, r := range name {
		if !letterOrDigit(r) && !strings.ContainsRune("!#$%&'*+-.^_`|~", r) {
			return "is no header name"
		}
	}
	switch strings.ToLower(name) {
	case "host", "content-length", "content-type", "transfer-encoding", "connection", "upgrade", "te", "trailer",
		"proxy-authorization", "proxy-authenticate", "forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto":
		return "can't carry a credential"
	}
	return ""
}

func letterOrDigit(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}
