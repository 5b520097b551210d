package config

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// grant checks what a plugin is granted beside databases.
func (k *checker) grant(plugin string, g Grant) {
	at := func(name string) toml.Key { return toml.Key{"plugins", plugin, "grant", name} }
	element := func(name string, i int, format string, args ...any) {
		k.problems = append(k.problems, k.elementProblem(at(name), i, fmt.Sprintf(format, args...)))
	}
	var hosts []string
	for i, address := range g.HTTP {
		host, err := grantedHost(address)
		if err != nil {
			if strings.Contains(address, "@") {
				address = "…" + address[strings.LastIndexByte(address, '@'):] // a password is not printed
			}
			element("http", i, "%s %v (such as https://vault.internal:8200/v1)", quote(address), err)
		}
		hosts = append(hosts, host)
	}
	for i, host := range g.Private {
		if !slices.Contains(hosts, canonicalName(host)) {
			element("private", i, "%s is the host of no address under http%s", quote(host), didYouMean(host, hosts))
		}
	}
	for i, name := range g.Secrets {
		if _, ok := k.Secrets[name]; !ok {
			element("secrets", i, "%s is not under [secrets]%s (add there: %s = \"file:/run/secrets/%s\")",
				quote(name), didYouMean(name, sortedKeys(k.Secrets)), toml.Key{name}, name)
		}
	}
	for i, f := range g.Files {
		if problem := f.check(g.Files[:i]); problem != "" {
			element("files", i, "%s", problem)
		}
	}
	k.certificates(at("ca").String(), g.CA)
}

// certificates looks into a file of them; "" is none.
func (k *checker) certificates(key, path string) {
	if path == "" {
		return
	}
	pem, err := readBounded(path)
	pathErr, isPath := errors.AsType[*fs.PathError](err)
	switch {
	case isPath:
		k.addf(key, "%s: %v", path, pathErr.Err)
	case err != nil:
		k.addf(key, "%v", err)
	case !x509.NewCertPool().AppendCertsFromPEM(pem):
		k.addf(key, "%s has no certificate in PEM form", path)
	}
}

func canonicalName(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

// grantedHost reads an address that a plugin may send to. What is below its path is granted with it.
func grantedHost(address string) (string, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
		return "", errors.New("is not an address that begins with https:// or http:// and a host")
	case u.User != nil:
		return "", errors.New("has a user or password in it (put them under [secrets])")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "", errors.New("has a query or fragment; what is granted is the beginning of a path")
	case strings.Contains(u.Hostname(), "*"):
		return "", errors.New("has a star; hosts are granted one by one")
	case slices.Contains(strings.Split(u.Path, "/"), ".."), strings.Contains(strings.ToLower(u.EscapedPath()), "%2f"):
		return "", errors.New("has a path that leads elsewhere")
	}
	return canonicalName(u.Hostname()), nil
}

// SecretNames are the names under [secrets], sorted.
func (c *Config) SecretNames() []string { return sortedKeys(c.Secrets) }

// CheckSecrets reads every secret under [secrets], as their users do later. The error is [Problems].
func (c *Config) CheckSecrets() error {
	var all Problems
	for _, name := range c.SecretNames() {
		_, err := c.ReadSecret(name)
		if problem, ok := errors.AsType[Problem](err); ok {
			all = append(all, problem)
		}
	}
	return all.asError()
}

// ReadSecret returns a secret as it is now: what its reference leads to is read again, so that one that
// was rotated is the new one. The error is a [Problem] when that can't be read: it says where the file names
// it, and nothing of its value.
func (c *Config) ReadSecret(name string) (Secret, error) {
	value, ok := c.Secrets[name]
	if !ok {
		return Secret{}, fmt.Errorf("reading secret %q: there is none of that name under [secrets]", name)
	}
	key := toml.Key{"secrets", name}.String()
	reference := c.Origin(key).Reference
	if reference == "" || c.env == nil {
		return value, nil
	}
	d := decoder{options: options{env: c.env}, cfg: c}
	text, err := d.resolve(reference)
	if err == nil && text == "" {
		err = errors.New(reference + ": it is empty")
	}
	if err != nil {
		return Secret{}, c.Problem(key, err.Error())
	}
	return NewSecret(text), nil
}
