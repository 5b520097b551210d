package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/BurntSushi/toml"
)

// Names that are looked for.
const (
	FileName = "alineo.toml"   // in the working directory
	FileEnv  = "ALINEO_CONFIG" // names a file

	urlEnv    = "OPEN_SANDBOX_URL"
	apiKeyEnv = "OPEN_SANDBOX_API_KEY"
	dsnEnv    = "DATABASE_URL"
)

// byteOrderMark begins files of some editors.
const byteOrderMark = "\ufeff"

// maxFile bounds the file and each file that it refers to, in bytes.
const maxFile = 256 << 10

// Option changes what is read around a file.
type Option func(*options)

type options struct {
	bundled []string
	env     func(name string) (string, bool)
	ledger  string
}

// WithBundled names the plugins that need no source: the caller carries them. Without it: sqlite, postgres and broker-vault.
func WithBundled(names ...string) Option {
	return func(o *options) { o.bundled = names }
}

// WithEnv replaces the environment; lookup is as os.LookupEnv, which is used without it.
func WithEnv(lookup func(name string) (string, bool)) Option {
	return func(o *options) { o.env = lookup }
}

// WithLedger uses the plugin of this name as the ledger, whatever [ledger] plugin says.
func WithLedger(name string) Option {
	return func(o *options) { o.ledger = name }
}

func newOptions(opts []Option) options {
	o := options{bundled: []string{SQLite, Postgres, Vault}, env: os.LookupEnv}
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

// Find says which file to load: flag when it is not empty, else $ALINEO_CONFIG, else ./alineo.toml
// when it exists, else none, which is "".
func Find(flag string, opts ...Option) string {
	if flag != "" {
		return flag
	}
	if named, _ := newOptions(opts).env(FileEnv); named != "" {
		return named
	}
	if _, err := os.Lstat(FileName); err == nil {
		return FileName
	}
	return ""
}

// Load reads a file and everything that it refers to; "" is no file. The error is [Problems] when
// the configuration is at fault, and holds all of them. The configuration that is returned is valid
// and its paths are absolute.
func Load(path string, opts ...Option) (*Config, error) {
	var text []byte
	if path != "" {
		var err error
		if text, err = readBounded(path); err != nil {
			return nil, fmt.Errorf("reading configuration: %w", err)
		}
	}
	return Parse(path, text, opts...)
}

// Parse is Load for a text that is already there; path is what messages call it, and its directory
// is what paths are relative to.
func Parse(path string, text []byte, opts ...Option) (*Config, error) {
	d, err := newDecoder(path, opts)
	if err != nil {
		return nil, err
	}
	d.load(strings.TrimPrefix(string(text), byteOrderMark))
	if err := d.problems.asError(); err != nil {
		return nil, err
	}
	return d.cfg, nil
}

func newDecoder(path string, opts []Option) (*decoder, error) {
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("finding the directory of %q: %w", path, err)
	}
	cfg := Default()
	cfg.Plugins = nil
	cfg.file, cfg.dir = path, dir
	cfg.origins, cfg.moved = map[string]Origin{}, map[string]string{}
	with := newOptions(opts)
	cfg.env = with.env
	return &decoder{options: with, cfg: cfg, bad: map[string]bool{}, now: map[string]bool{}}, nil
}

func (d *decoder) load(text string) {
	tree, ok := d.parse(text)
	if !ok {
		return
	}
	d.root(tree)
	d.environment()
	if d.ledger != "" {
		d.cfg.Ledger.Plugin = d.ledger
	}
	d.sugar()
	d.cfg.fillBundled(d.bundled)
	d.databaseURL()
	d.paths()
	for _, p := range d.cfg.check(d.bundled) {
		if !d.isBad(p.Key) && (p.Key != "ledger.digest_key_id" || !d.isBad("ledger.digest_key")) {
			d.problems = append(d.problems, p)
		}
	}
}

// parse reads the syntax. After an error in a statement of one line the line is left out and
// reading goes on, so that one run shows as much as it can.
func (d *decoder) parse(text string) (tree map[string]any, ok bool) {
	const most = 20
	for range most {
		d.cfg.index = scan(text)
		if deep := d.cfg.index.tooDeep; deep != nil {
			d.problemAt(*deep, "", fmt.Sprintf("nested deeper than %d levels or %d parts of a key", maxDepth, maxParts))
			return nil, false
		}
		tree = map[string]any{}
		_, err := toml.Decode(text, &tree)
		if err == nil {
			return tree, true
		}
		syntax, ok := errors.AsType[toml.ParseError](err)
		if !ok {
			d.problemAt(spot{line: 1, column: 1}, "", err.Error())
			return nil, false
		}
		message := strings.TrimSuffix(syntax.Message, ".")
		message = strings.ToLower(message[:1]) + message[1:]
		line := syntax.Position.Line
		at := spot{line: line, column: max(1, syntax.Position.Col)}
		if strings.HasSuffix(message, `got '\n' instead`) && line > 1 { // the parser counts the end of a line to the next
			line--
			at = spot{line: line, column: len(strings.Split(text, "\n")[line-1]) + 1}
		}
		broken, one := d.cfg.index.statements[line]
		if !one {
			d.problemAt(at, "", message)
			return nil, false
		}
		if strings.HasSuffix(message, "already been defined") { // the parser points behind the value
			at.column = broken.start - strings.LastIndexByte(text[:broken.start], '\n')
		}
		d.bad[broken.path.String()] = true
		d.problemAt(at, broken.path.String(), message+unquotedHint(text[broken.start:broken.end]))
		text = text[:broken.start] + strings.Repeat(" ", broken.end-broken.start) + text[broken.end:]
	}
	return nil, false
}

// unquotedHint shows how to write a value that was meant as text.
func unquotedHint(line string) string {
	bare := regexp.MustCompile(`^([A-Za-z0-9_.-]+)\s*=\s*([A-Za-z0-9_./:~@+-]+)\s*(#.*)?\r?$`)
	m := bare.FindStringSubmatch(line)
	if m == nil {
		return ""
	}
	key, value := m[1], m[2]
	if hint := didYouMean(value, []string{"true", "false"}); hint != "" {
		return hint
	}
	if strings.Trim(value, "0123456789_.+-") == "" {
		return "" // a number that went wrong
	}
	return fmt.Sprintf(" (text stands in quotes: %s = %q)", key, value)
}

// environment fills what the file is silent about.
func (d *decoder) environment() {
	d.fill(urlEnv, "sandbox.url", func(v string) { d.cfg.Sandbox.URL = v })
	d.fill(apiKeyEnv, "sandbox.api_key", func(v string) { d.cfg.Sandbox.APIKey = NewSecret(v) })
}

// fill sets a value that the file doesn't have from a variable.
func (d *decoder) fill(name, key string, set func(value string)) {
	value, _ := d.env(name)
	if value == "" || d.now[key] {
		return
	}
	set(value)
	d.cfg.origins[key] = Origin{Kind: FromEnv, Position: Position{File: "$" + name}, Reference: "env:" + name}
}

// databaseURL gives the bundled PostgreSQL plugin the database that the environment names, unless the
// file names one. The PG* variables are read where the connection is made, as libpq does.
func (d *decoder) databaseURL() {
	p, ok := d.cfg.Plugins[Postgres]
	db, granted := p.SQL[LedgerDB]
	key := toml.Key{"plugins", Postgres, "sql", LedgerDB, "dsn"}.String()
	if _, moved := d.cfg.moved[key]; !ok || moved || p.Source != "" || !granted || db.Driver != Postgres {
		return
	}
	d.fill(dsnEnv, key, func(v string) {
		db.DSN = NewSecret(v)
		p.SQL[LedgerDB] = db
	})
}

// readBounded reads a file of at most maxFile bytes.
func readBounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("%s is larger than %s", path, Size(maxFile))
	}
	return text, nil
}
