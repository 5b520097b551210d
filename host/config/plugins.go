package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// maxModule bounds the module whose digest is worked out for a message, in bytes.
const maxModule = 256 << 20

// ConfigJSON is what the guest gets to configure itself with: a JSON object.
func (p Plugin) ConfigJSON() (json.RawMessage, error) {
	if p.Config == nil {
		return json.RawMessage("{}"), nil
	}
	text, err := json.Marshal(p.Config)
	if err != nil {
		return nil, fmt.Errorf("writing a plugin's configuration as JSON: %w", err)
	}
	return text, nil
}

// sugar turns what the bundled plugins' own tables say about the database into the database that they
// are granted: path, synchronous and busy_timeout of SQLite; url, which is the dsn, pool_size,
// statement_timeout and allow_superuser of PostgreSQL.
func (d *decoder) sugar() {
	for _, plugin := range [...]string{SQLite, Postgres} {
		d.sugarOf(plugin)
	}
}

func (d *decoder) sugarOf(plugin string) {
	p, ok := d.cfg.Plugins[plugin]
	if !ok || p.Source != "" || !slices.Contains(d.bundled, plugin) {
		return
	}
	db, granted := p.SQL[LedgerDB]
	if !granted {
		db = DefaultSQL()
	}
	if !d.now[toml.Key{"plugins", plugin, "sql", LedgerDB, "driver"}.String()] {
		db.Driver = plugin // which is called as its driver is
	}
	names, fields := structKeys(reflect.TypeFor[SQL]())
	for _, name := range driverKeys(plugin) {
		i := slices.Index(names, name)
		own := name
		if name == "dsn" {
			own = "url"
		}
		value, ok := p.Config[own]
		if !ok {
			continue
		}
		delete(p.Config, own)
		from := toml.Key{"plugins", plugin, "config", own}
		to := toml.Key{"plugins", plugin, "sql", LedgerDB, name}
		if d.now[to.String()] {
			d.problem(from, "given twice, also as "+to.String())
			continue
		}
		d.cfg.moved[to.String()] = from.String()
		reference := d.cfg.origins[from.String()].Reference
		d.note(from, reference)
		d.cfg.origins[to.String()] = d.cfg.origins[from.String()]
		if d.isBad(from.String()) {
			d.bad[to.String()] = true
			continue
		}
		// References are resolved already, so a text is taken as it is.
		text, isText := value.(string)
		field := reflect.ValueOf(&db).Elem().FieldByIndex(fields[i].Index)
		if wrong := assign(field, value, text, isText, false); wrong != nil {
			shown := describe(value)
			if name == "dsn" {
				shown = "what stands here" // a secret is not printed, even one of a wrong type
			}
			if reference != "" {
				shown = "the value of " + reference
			}
			d.problem(from, wrong.about(shown))
			d.bad[to.String()] = true
		}
	}
	d.unknownTo(plugin, p.Config)
	if p.SQL == nil {
		p.SQL = map[string]SQL{}
	}
	p.SQL[LedgerDB] = db
	d.cfg.Plugins[plugin] = p
}

// unknownTo refuses what is left for a bundled ledger and which it would refuse itself, but later.
func (d *decoder) unknownTo(plugin string, left map[string]any) {
	known := "SQLite ledger knows path, synchronous and busy_timeout"
	if plugin == Postgres {
		known = "PostgreSQL ledger knows url, schema, pool_size, statement_timeout and allow_superuser"
	}
	for _, key := range sortedKeys(left) {
		if plugin == Postgres && key == "schema" {
			continue
		}
		d.problem(toml.Key{"plugins", plugin, "config", key}, "unknown key (the bundled "+known+")")
	}
}

// fillBundled completes the plugins of the ledger and of runs when they are bundled ones of which the
// file says nothing or not all.
func (c *Config) fillBundled(bundled []string) {
	c.fillPlugin(c.Ledger.Plugin, bundled)
	c.fillPlugin(c.RunsPlugin(), bundled)
}

func (c *Config) fillPlugin(name string, bundled []string) {
	if !slices.Contains(bundled, name) {
		return
	}
	p, ok := c.Plugins[name]
	if !ok {
		p = DefaultPlugin(name)
	}
	if (name == SQLite || name == Postgres) && p.Source == "" {
		db, granted := p.SQL[LedgerDB]
		if !granted {
			db = DefaultSQL()
			db.Driver = name // which is called as its driver is
		}
		if db.Path == "" && db.Driver == SQLite {
			db.Path = defaultLedgerPath
		}
		if p.SQL == nil {
			p.SQL = map[string]SQL{}
		}
		p.SQL[LedgerDB] = db
	}
	if c.Plugins == nil {
		c.Plugins = map[string]Plugin{}
	}
	c.Plugins[name] = p
}

// paths makes every path absolute.
func (d *decoder) paths() {
	fix := func(key string, path *string) {
		if *path == "" || *path == Memory || d.isBad(key) {
			return
		}
		fixed, err := d.resolvePath(*path)
		if err != nil {
			d.problem(parseKey(key), err.Error())
			return
		}
		*path = fixed
	}
	c := d.cfg
	fix("engine.data", &c.Engine.Data)
	fix("engine.init", &c.Engine.Init)
	fix("engine.ca", &c.Engine.CA)
	for i, path := range c.Engine.HostPaths {
		key := toml.Key{"engine", "host_paths"}
		if d.isBad(key.String()) {
			break
		}
		fixed, err := d.resolvePath(path)
		if err != nil {
			d.elementProblem(key, i, err.Error())
			break
		}
		c.Engine.HostPaths[i] = fixed
	}
	for _, name := range sortedKeys(c.Engine.Images) {
		if to := c.Engine.Images[name]; isImagePath(to) {
			fix(toml.Key{"engine", "images", name}.String(), &to)
			c.Engine.Images[name] = to
		}
	}
	for _, name := range sortedKeys(c.Plugins) {
		p := c.Plugins[name]
		if _, remote := remoteScheme(p.Source); !remote {
			fix(toml.Key{"plugins", name, "source"}.String(), &p.Source)
		}
		fix(toml.Key{"plugins", name, "grant", "ca"}.String(), &p.Grant.CA)
		d.filesPaths(toml.Key{"plugins", name, "grant", "files"}, p.Grant.Files)
		for _, db := range sortedKeys(p.SQL) {
			sql := p.SQL[db]
			fix(toml.Key{"plugins", name, "sql", db, "path"}.String(), &sql.Path)
			p.SQL[db] = sql
		}
		c.Plugins[name] = p
	}
}

// isImagePath tells a path from an image's name, which never begins like one.
func isImagePath(to string) bool {
	return strings.HasPrefix(to, "/") || strings.HasPrefix(to, "./") || strings.HasPrefix(to, "../") || strings.HasPrefix(to, "~/")
}

func remoteScheme(source string) (scheme string, ok bool) {
	scheme, _, ok = strings.Cut(source, "://")
	return scheme, ok && scheme != "file"
}

// digestFile is the sha256 of a module in hex.
func digestFile(path string) (string, error) {
	info, err := os.Stat(path)
	pathErr, isPath := errors.AsType[*fs.PathError](err)
	switch {
	case isPath:
		return "", pathErr.Err
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", errors.New("not a regular file")
	case info.Size() > maxModule:
		return "", fmt.Errorf("larger than %s", Size(maxModule))
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	_, err = io.Copy(sum, io.LimitReader(f, maxModule))
	if err := errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
