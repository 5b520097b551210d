package host

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/config"
)

// PluginPaste is a module that is to be put into alineo.toml.
type PluginPaste struct {
	File     string // the module's
	SHA256   string
	Manifest abi.Manifest
	// Postgres are the databases, by the name that the plugin uses, that are to be PostgreSQL's. The others
	// are SQLite files.
	Postgres []string
}

// PasteLines are the lines that make a plugin of a module, to be put at the end of the file that cfg was read
// from: its source and pin, and all that it asks for, each with its reason. What is optional, and what the
// file has already, is there as a comment.
func PasteLines(cfg *config.Config, paste PluginPaste) string {
	base := strings.ToLower(fileName(strings.TrimSuffix(filepath.Base(paste.File), ".wasm")))
	base = base[:min(len(base), 60)] // names have 63 bytes at most
	name := base
	for n := 2; cfg.Has("plugins", name); n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	p := paster{cfg: cfg, key: tomlKey(name)}
	p.linef("[plugins.%s]", p.key)
	p.linef("source = %s", tomlText(sourcePath(cfg, paste.File)))
	p.linef("sha256 = %s", tomlText(paste.SHA256))
	p.settings(paste.Manifest.ConfigSchema)
	p.grants(paste.Manifest.Capabilities)
	for _, want := range paste.Manifest.Capabilities {
		if want.Name == "sql" {
			p.database(want, name, slices.Contains(paste.Postgres, want.Resource))
		}
	}
	p.secrets(paste.Manifest.Capabilities)
	for _, use := range [...][3]string{{"ledger", "ledger", "plugin"}, {kindBroker, "credentials", "broker"}} {
		if slices.Contains(paste.Manifest.Kinds, use[0]) {
			p.blank()
			p.table(use[1], fmt.Sprintf("%s = %s", use[2], tomlText(name)))
		}
	}
	return p.text.String()
}

// kindBroker is a plugin that binds credentials.
const kindBroker = "broker"

type paster struct {
	cfg  *config.Config
	key  string // of the plugin
	text strings.Builder
}

func (p *paster) linef(format string, args ...any) { fmt.Fprintf(&p.text, format+"\n", args...) }

func (p *paster) blank() { p.text.WriteByte('\n') }

// table writes lines below a table of the file's own, as comments when it has the table already: a table
// can't be there twice.
func (p *paster) table(name string, lines ...string) {
	if p.cfg.Has(name) {
		p.linef("# and below [%s], which is there already:", name)
		for _, line := range lines {
			p.linef("# %s", line)
		}
		return
	}
	p.linef("[%s]", name)
	for _, line := range lines {
		p.linef("%s", line)
	}
}

// grants writes all that is not a database.
func (p *paster) grants(wants []abi.Want) {
	var lines []string
	add := func(required []string, format, comment string) {
		if len(required) > 0 {
			lines = append(lines, fmt.Sprintf(format, strings.Join(required, ", "))+comment)
		}
	}
	for _, optional := range [...]bool{false, true} {
		var web, secrets, files, reasons []string
		for _, want := range wants {
			if want.Optional != optional {
				continue
			}
			switch want.Name {
			case "http":
				web = append(web, tomlText(cmp.Or(want.Resource, "https://host:port/path")))
			case "secret":
				secrets = append(secrets, tomlText(cmp.Or(want.Resource, "NAME")))
			case "files":
				files = append(files, fmt.Sprintf("{ host = %s, guest = %s, mode = \"rw\" }", tomlText("./"+directoryName(want.Resource)), tomlText(want.Resource)))
			default:
				continue
			}
			reasons = append(reasons, fmt.Sprintf("# %s: %s", comment(want.Name+" "+want.Resource), comment(want.Reason)))
		}
		lines = append(lines, reasons...)
		mark := ""
		if optional {
			mark = "# if you like: "
		}
		add(web, mark+"http = [%s]", "")
		add(secrets, mark+"secrets = [%s]", "")
		add(files, mark+"files = [%s]", "   # directories that are there")
	}
	if len(lines) == 0 {
		return
	}
	p.blank()
	p.linef("[plugins.%s.grant]", p.key)
	for _, line := range lines {
		p.linef("%s", line)
	}
}

func (p *paster) database(want abi.Want, name string, postgres bool) {
	mark := ""
	if want.Optional {
		mark = "# "
	}
	p.blank()
	p.linef("# %s", comment(want.Reason))
	p.linef("%s[plugins.%s.sql.%s]", mark, p.key, tomlKey(want.Resource))
	if postgres {
		p.linef("%sdriver = \"postgres\"\n%[1]sdsn = \"env:DATABASE_URL\"", mark)
		return
	}
	p.linef("%sdriver = \"sqlite\"\n%[1]spath = %s", mark, tomlText("./"+fileName(name)+".db"))
}

// secrets writes those that are wanted by name and that the file does not have.
func (p *paster) secrets(wants []abi.Want) {
	var lines []string
	for _, want := range wants {
		if want.Name == "secret" && want.Resource != "" && !slices.Contains(p.cfg.SecretNames(), want.Resource) {
			lines = append(lines, fmt.Sprintf("%s = %s", tomlKey(want.Resource), tomlText("file:./"+fileName(want.Resource))))
		}
	}
	if len(lines) > 0 {
		p.blank()
		p.table("secrets", lines...)
	}
}

// settings writes the keys that a configuration must have.
func (p *paster) settings(schema string) {
	var s struct {
		Required   []string `json:"required"`
		Properties map[string]struct {
			Type        any             `json:"type"`
			Description string          `json:"description"`
			Enum        []any           `json:"enum"`
			Default     json.RawMessage `json:"default"`
		} `json:"properties"`
	}
	if json.Unmarshal([]byte(schema), &s) != nil || len(s.Required) == 0 {
		return // a schema that can't be read is reported when the plugin is loaded
	}
	p.blank()
	p.linef("[plugins.%s.config]", p.key)
	for _, key := range s.Required {
		property := s.Properties[key]
		var value any = "…"
		switch {
		case len(property.Enum) > 0:
			value = property.Enum[0]
		case property.Type == "integer" || property.Type == "number":
			value = 1
		case property.Type == "boolean":
			value = false
		case property.Type == "array":
			value = []any{}
		case property.Type == "object":
			p.linef("# %s = { … }   # %s", tomlKey(key), comment(cmp.Or(property.Description, "a table")))
			continue
		}
		text, err := json.Marshal(value) // as TOML writes such values
		if err != nil {
			continue
		}
		p.linef("%s = %s   # %s", tomlKey(key), text, comment(cmp.Or(property.Description, "it must be given")))
	}
}

// sourcePath is how the file of cfg names a module: relative to itself where that is shorter to read.
func sourcePath(cfg *config.Config, file string) string {
	abs, err := filepath.Abs(file)
	if err != nil {
		return file
	}
	dir, err := filepath.Abs(cmp.Or(cfg.Dir(), "."))
	if err != nil {
		return abs
	}
	rel, err := filepath.Rel(dir, abs)
	if err != nil || strings.HasPrefix(rel, "..") {
		return abs
	}
	return "./" + filepath.ToSlash(rel)
}

// tomlKey writes a key bare where that is allowed.
func tomlKey(name string) string {
	if regexp.MustCompile(`^[A-Za-z0-9_-]+$`).MatchString(name) {
		return name
	}
	return tomlText(name)
}

// tomlText quotes a text. JSON's escapes are TOML's too.
func tomlText(text string) string {
	for _, r := range text {
		if r < ' ' || r == 0x7f || r == '"' || r == '\\' || !strconv.IsPrint(r) {
			quoted, err := json.Marshal(text)
			if err == nil {
				return strings.ReplaceAll(string(quoted), "\x7f", `\u007f`)
			}
		}
	}
	return `"` + text + `"`
}

// comment is a text of a guest's as one line.
func comment(text string) string {
	const most = 200
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return text
}

// fileName leaves of a text what a file's name may always be of.
func fileName(text string) string {
	name := strings.Map(func(r rune) rune {
		if r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_') {
			return r
		}
		return '-'
	}, text)
	return cmp.Or(strings.Trim(name, "-"), "data")
}

func directoryName(guest string) string { return fileName(strings.Trim(guest, "/")) }
