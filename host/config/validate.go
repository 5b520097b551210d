package config

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
)

const (
	// wasmPage is the unit of a guest's memory.
	wasmPage Size = 64 << 10
	// maxMemory is what a 32-bit guest can address.
	maxMemory Size = 4 << 30
	// maxFrame bounds one request or response.
	maxFrame Size = 1 << 30
	// minDigestKey is the shortest key that digests are keyed with, in bytes.
	minDigestKey = 16
	// minToken is the shortest token that clients of the daemon send, in bytes.
	minToken = 16
)

// Validate checks what was put together in Go as Load checks a file: all problems at once, as
// [Problems]. It changes nothing.
func (c *Config) Validate(opts ...Option) error {
	return c.check(newOptions(opts).bundled).asError()
}

// checker collects the problems of a decoded configuration.
type checker struct {
	*Config
	bundled  []string
	problems Problems
}

func (c *Config) check(bundled []string) Problems {
	k := &checker{Config: c, bundled: bundled}
	k.sandbox()
	k.ledger()
	k.runs()
	k.serve()
	k.credentials()
	for _, name := range sortedKeys(c.Plugins) {
		k.plugin(name, c.Plugins[name])
	}
	k.engine()
	k.telemetry()
	k.oneOf("log.level", c.Log.Level, "trace", "debug", "info", "warn", "error", "off")
	return k.problems
}

func (k *checker) addf(key, format string, args ...any) {
	k.problems = append(k.problems, k.Problem(key, fmt.Sprintf(format, args...)))
}

// shown is a value for a message, or its reference, which may lead to something private.
func (k *checker) shown(key, value string) string {
	switch origin := k.Origin(key); {
	case origin.Kind == FromEnv:
		return "its value"
	case origin.Reference != "":
		return "the value of " + origin.Reference
	}
	return quote(value)
}

func (k *checker) oneOf(key, value string, words ...string) {
	if slices.Contains(words, value) {
		return
	}
	k.addf(key, "%s is not %s%s", k.shown(key, value), orList(words), didYouMean(value, words))
}

func (k *checker) atLeast(key string, value, least int) {
	if value < least {
		k.addf(key, "%d is less than %d", value, least)
	}
}

func (k *checker) sandbox() {
	s := k.Sandbox
	const key = "sandbox.url"
	if s.URL != Embedded {
		u, err := url.Parse(s.URL)
		switch {
		case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Opaque != "":
			k.addf(key, "%s is not %q or a URL such as \"https://sandboxes.example.com\"%s",
				k.shown(key, s.URL), Embedded, didYouMean(s.URL, []string{Embedded}))
		case u.User != nil:
			k.addf(key, "a URL with a user or password in it (give the key as api_key)")
		case u.RawQuery != "" || u.Fragment != "":
			k.addf(key, "%s has a query or fragment, a base URL has none", k.shown(key, s.URL))
		}
	}
	k.atLeast("sandbox.max_concurrency", s.MaxConcurrency, 0)
	if s.Image == "" {
		k.addf("sandbox.image", "the name is empty (try %q)", HostImage)
	}
	k.duration("sandbox.timeout", s.Timeout, 0)
}

func (k *checker) telemetry() {
	const key, headers = "telemetry.otlp", "telemetry.headers"
	t := k.Telemetry
	if t.OTLP == "" {
		if t.Headers.IsSet() {
			k.addf(headers, "headers for no collector (add otlp = \"http://127.0.0.1:4318\", or remove this)")
		}
		return
	}
	u, err := url.Parse(t.OTLP)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Opaque != "":
		k.addf(key, "%s is not a URL such as \"http://127.0.0.1:4318\"", k.shown(key, t.OTLP))
	case u.User != nil:
		k.addf(key, "a URL with a user or password in it (give what the collector wants as headers)")
	case u.RawQuery != "" || u.Fragment != "":
		k.addf(key, "%s has a query or fragment, a base URL has none", k.shown(key, t.OTLP))
	}
	for pair := range strings.SplitSeq(t.Headers.Reveal(), ",") {
		if name, _, ok := strings.Cut(pair, "="); t.Headers.IsSet() && (!ok || strings.TrimSpace(name) == "") {
			k.addf(headers, "not name=value, with commas between several (such as \"authorization=Bearer%%20KEY\")")
			break
		}
	}
}

func (k *checker) ledger() {
	l := k.Ledger
	if _, defined := k.Plugins[l.Plugin]; !defined {
		names := append(sortedKeys(k.Plugins), k.bundled...)
		k.addf("ledger.plugin", "%s is neither bundled nor a table under [plugins]%s",
			k.shown("ledger.plugin", l.Plugin), didYouMean(l.Plugin, names))
	}
	if length := len(l.DigestKey.Reveal()); l.DigestKey.IsSet() && length < minDigestKey {
		k.addf("ledger.digest_key", "a key of %d bytes is too short to keep digests from being guessed "+
			"(at least %d, for example from: openssl rand -hex 32)", length, minDigestKey)
	}
	switch {
	case l.DigestKey.IsSet() && l.DigestKeyID == "":
		k.addf("ledger.digest_key", "a key needs an id, so that a later key is told from it "+
			"(add: digest_key_id = \"1\")")
	case !l.DigestKey.IsSet() && l.DigestKeyID != "":
		k.addf("ledger.digest_key_id", "an id of no key (add digest_key, or remove this)")
	}
}

func (k *checker) runs() {
	name := k.Runs.Store
	if _, defined := k.Plugins[name]; name != "" && !defined {
		names := append(sortedKeys(k.Plugins), k.bundled...)
		k.addf("runs.store", "%s is neither bundled nor a table under [plugins]%s", k.shown("runs.store", name), didYouMean(name, names))
	}
	k.oneOf("runs.keep", k.Runs.Keep, KeepEverything, KeepSandbox, KeepChat, KeepNothing)
	k.duration("runs.detached_ttl", k.Runs.DetachedTTL, Duration(time.Second))
	k.duration("runs.interrupted_ttl", k.Runs.InterruptedTTL, Duration(time.Second))
	k.duration("runs.sandbox_ttl", k.Runs.SandboxTTL, 0)
	k.duration("runs.retention", k.Runs.Retention, 0)
	k.duration("runs.sweep_every", k.Runs.SweepEvery, Duration(time.Second))
	// Shorter ones are lost to a pause of the garbage collector or of the network.
	if least := Duration(time.Second); k.Runs.Lease < least {
		k.addf("runs.lease", "%s is shorter than %s", k.Runs.Lease, least)
	}
}

func (k *checker) serve() {
	const listen, token = "serve.listen", "serve.token"
	k.address(listen, k.Serve.Listen)
	host, _, err := net.SplitHostPort(k.Serve.Listen)
	ip := net.ParseIP(host)
	if err == nil && !k.Serve.Token.IsSet() && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		k.addf(listen, "whoever reaches %s could run programs here (add: token = \"env:ALINEO_SERVE_TOKEN\", or listen on 127.0.0.1)",
			k.shown(listen, k.Serve.Listen))
	}
	if length := len(k.Serve.Token.Reveal()); k.Serve.Token.IsSet() && length < minToken {
		k.addf(token, "a token of %d bytes is too short to keep it from being guessed (at least %d, for example from: openssl rand -hex 32)",
			length, minToken)
	}
}

func (k *checker) credentials() {
	const key = "credentials.broker"
	name := k.Credentials.Broker
	_, defined := k.Plugins[name]
	if !defined && !slices.Contains(k.bundled, name) && name != "" && name != Default().Credentials.Broker {
		k.addf(key, "%s is neither bundled nor a table under [plugins]%s", k.shown(key, name),
			didYouMean(name, append(sortedKeys(k.Plugins), k.bundled...)))
	}
	for _, name := range sortedKeys(k.Secrets) {
		key := toml.Key{"secrets", name}.String()
		if !k.Secrets[name].IsSet() && k.Origin(key).Reference == "" {
			k.addf(key, "the secret is empty")
		}
	}
}

func (k *checker) plugin(name string, p Plugin) {
	at := func(parts ...string) string {
		return append(toml.Key{"plugins", name}, parts...).String()
	}
	k.source(name, p, at)
	k.limits(p.Limits, at)
	k.grant(name, p.Grant)
	for _, db := range sortedKeys(p.SQL) {
		k.sql(p.SQL[db], func(key string) string { return at("sql", db, key) })
	}
}

func (k *checker) source(name string, p Plugin, at func(...string) string) {
	key := at("source")
	digest := regexp.MustCompile(`^[0-9a-f]{64}$`)
	scheme, remote := remoteScheme(p.Source)
	switch {
	case p.Source == "" && !slices.Contains(k.bundled, name):
		k.addf(key, "no source, and no bundled plugin has this name%s (add: source = \"./%s.wasm\")",
			didYouMean(name, k.bundled), name)
		return
	case p.Source == "" && p.SHA256 != "":
		k.addf(at("sha256"), "a digest without a source (the bundled plugin's digest is built in)")
		return
	case p.Source == "":
		return
	case remote:
		k.addf(key, "%s:// is not in this version yet: download the module and give its path", scheme)
		return
	}
	info, err := os.Stat(p.Source)
	if err != nil {
		if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
			err = pathErr.Err
		}
		k.addf(key, "%s: %v", p.Source, err)
		return
	}
	if !info.Mode().IsRegular() {
		k.addf(key, "%s is not a regular file", p.Source)
		return
	}
	switch {
	case digest.MatchString(p.SHA256):
	case p.SHA256 == "":
		k.addf(key, "a plugin that is not bundled is pinned by its digest%s", pasteLine(p.Source))
	default:
		k.addf(at("sha256"), "%s is not a sha256 digest, 64 hex digits in small letters%s",
			k.shown(at("sha256"), p.SHA256), pasteLine(p.Source))
	}
}

// pasteLine is the end of a message with the line that pins a module.
func pasteLine(source string) string {
	sum, err := digestFile(source)
	if err != nil {
		return ""
	}
	return fmt.Sprintf(" (if you trust this file, add: sha256 = %q)", sum)
}

func (k *checker) limits(l Limits, at func(...string) string) {
	k.size(at("limits", "memory"), l.Memory, wasmPage, maxMemory)
	if l.Memory%wasmPage != 0 {
		k.addf(at("limits", "memory"), "%s is not a multiple of %s, the page of a guest's memory (try %q)",
			l.Memory, wasmPage, (l.Memory+wasmPage-1)/wasmPage*wasmPage)
	}
	k.size(at("limits", "max_request"), l.MaxRequest, 1<<10, maxFrame)
	k.size(at("limits", "max_response"), l.MaxResponse, 1<<10, maxFrame)
	k.duration(at("limits", "deadline"), l.Deadline, 1)
	k.duration(at("limits", "start_deadline"), l.StartDeadline, 1)
	k.atLeast(at("limits", "instances"), l.Instances, 0)
	k.atLeast(at("limits", "log_lines"), l.LogLines, 1)
}

func (k *checker) size(key string, size, least, most Size) {
	switch {
	case size < least:
		k.addf(key, "%s is less than %s", size, least)
	case size > most:
		k.addf(key, "%s is more than %s", size, most)
	}
}

func (k *checker) duration(key string, d, least Duration) {
	if d < least {
		k.addf(key, "%s is not a time to wait", d)
	}
}

func (k *checker) sql(db SQL, at func(key string) string) {
	other := Postgres
	switch db.Driver {
	case SQLite:
		if db.Path == "" {
			k.addf(at("path"), "the database has no file (add: path = \"./data.db\", or %q)", Memory)
		}
	case Postgres:
		other = SQLite
	default:
		k.oneOf(at("driver"), db.Driver, SQLite, Postgres)
		return
	}
	for _, key := range driverKeys(other) {
		if k.Origin(at(key)).Kind == FromFile {
			k.addf(at(key), "the driver %q has no such key (it has: %s)", db.Driver, strings.Join(driverKeys(db.Driver), ", "))
		}
	}
	k.oneOf(at("synchronous"), db.Synchronous, "full", "normal")
	k.duration(at("busy_timeout"), db.BusyTimeout, 1)
	const maxPool = 1000
	if db.PoolSize < 1 || db.PoolSize > maxPool {
		k.addf(at("pool_size"), "%d is not one of 1 to %d", db.PoolSize, maxPool)
	}
	k.duration(at("statement_timeout"), db.StatementTimeout, Duration(time.Millisecond))
}

func (k *checker) engine() {
	if k.Engine.Data == "" {
		k.addf("engine.data", "the path is empty")
	}
	k.oneOf("engine.isolation", k.Engine.Isolation, "auto", "namespaces", "reduced", "none")
	k.address("engine.listen", k.Engine.Listen)
	if k.Engine.Metrics != "" {
		k.address("engine.metrics", k.Engine.Metrics)
	}
	if ns := k.Engine.Nameserver; ns != "" {
		if host, port, err := net.SplitHostPort(ns); err != nil || host == "" || port == "" {
			k.addf("engine.nameserver", "%q is not host:port (try %q)", ns, net.JoinHostPort(strings.Trim(ns, "[]:"), "53"))
		}
	}
	k.certificates("engine.ca", k.Engine.CA)
	if k.Engine.MaxDisk < 0 {
		k.addf("engine.max_disk", "%s is less than nothing (0 is no limit)", k.Engine.MaxDisk)
	}
	if k.Engine.MaxFiles < 0 {
		k.addf("engine.max_files", "%d is less than none (0 is no limit)", k.Engine.MaxFiles)
	}
	for i, path := range k.Engine.HostPaths {
		var message string
		switch {
		case !filepath.IsAbs(path) || filepath.Clean(path) != path:
			message = quote(path) + " is not an absolute path without \"..\" and trailing slash"
		case path == "/":
			message = "\"/\" is all of this machine (name the directories that sandboxes may have)"
		default:
			continue
		}
		k.problems = append(k.problems, k.elementProblem(toml.Key{"engine", "host_paths"}, i, message))
	}
	for _, name := range sortedKeys(k.Engine.Images) {
		if k.Engine.Images[name] == "" {
			k.addf(toml.Key{"engine", "images", name}.String(), "the value is empty (try %q)", HostImage)
		}
	}
}

func (k *checker) address(key, value string) {
	_, port, err := net.SplitHostPort(value)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		k.addf(key, "%q is not an address to listen on (host:port, for example 127.0.0.1:8080)", value)
	}
}
