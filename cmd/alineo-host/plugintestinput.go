package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/spf13/pflag"

	"github.com/alineo-labs/alineo-host/host"
	"github.com/alineo-labs/alineo-host/host/config"
)

// pluginSettings makes a configuration of a file and of KEY=VALUE pairs, which win.
func pluginSettings(file string, pairs []string) (map[string]any, error) {
	settings := map[string]any{}
	if file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("--settings: %w", err)
		}
		if filepath.Ext(file) == ".json" {
			err = json.Unmarshal(text, &settings)
		} else {
			err = toml.Unmarshal(text, &settings)
		}
		if err != nil {
			return nil, fmt.Errorf("--settings %s: %w", file, err)
		}
	}
	for _, pair := range pairs {
		key, text, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("--set %q is not KEY=VALUE", pair)
		}
		if err := setKey(settings, strings.Split(key, "."), settingValue(text)); err != nil {
			return nil, fmt.Errorf("--set %s: %w", key, err)
		}
	}
	return settings, nil
}

// settingValue is what JSON makes of a text, else the text.
func settingValue(text string) any {
	var value any
	if json.Unmarshal([]byte(text), &value) == nil {
		return value
	}
	return text
}

func setKey(table map[string]any, path []string, value any) error {
	if len(path) == 1 {
		table[path[0]] = value
		return nil
	}
	inner, ok := table[path[0]].(map[string]any)
	if !ok {
		if table[path[0]] != nil {
			return fmt.Errorf("%s is a value, not a table", path[0])
		}
		inner = map[string]any{}
		table[path[0]] = inner
	}
	return setKey(inner, path[1:], value)
}

// pluginFlags say how a plugin is tried, whatever is done with it.
type pluginFlags struct {
	set        []string
	settings   string
	grants     []string
	references []string
	deadline   time.Duration
}

// grantHelp is what --grant takes where nothing is kept.
const grantHelp = "give the plugin a database: `NAME=sqlite`, or NAME=DSN of a PostgreSQL server (env:VARIABLE and file:PATH are read); " +
	"or the URL of a service that it may send requests to (repeatable)"

func (f *pluginFlags) add(flags *pflag.FlagSet, grants string) {
	flags.StringArrayVar(&f.set, "set", nil, "a `KEY=VALUE` of the plugin's configuration; the value is JSON, or else text; dots in the key make tables (repeatable)")
	flags.StringVar(&f.settings, "settings", "", "a TOML or JSON `file` with the plugin's configuration")
	flags.StringArrayVar(&f.grants, "grant", nil, grants)
	flags.StringArrayVar(&f.references, "reference", nil, "a broker finds the value of the secret NAME by REF: `REF=NAME` (repeatable)")
	flags.DurationVar(&f.deadline, "deadline", 0, "the longest `time` of one call (default: limits.deadline of the plugin)")
}

// options are the flags as the host takes them, and the directories that are granted.
func (f *pluginFlags) options() (opts host.PluginTest, directories map[string]string, err error) {
	opts.CallDeadline = f.deadline
	if f.deadline < 0 {
		return opts, nil, errors.New("--deadline is a time after now")
	}
	if opts.Config, err = pluginSettings(f.settings, f.set); err != nil {
		return opts, nil, err
	}
	for _, text := range f.references {
		at := strings.LastIndexByte(text, '=')
		if at <= 0 || at == len(text)-1 {
			return opts, nil, fmt.Errorf("--reference %q is not a reference, = and the name of a secret (secret:github=github)", text)
		}
		if opts.References == nil {
			opts.References = map[string]string{}
		}
		opts.References[text[:at]] = text[at+1:]
	}
	opts.Grants, directories = map[string]config.SQL{}, map[string]string{}
	for _, text := range f.grants {
		if err := readGrant(text, &opts, directories); err != nil {
			return opts, nil, err
		}
	}
	return opts, directories, nil
}

// temporary refuses what is kept, where nothing may be.
func temporary(opts host.PluginTest, directories map[string]string) error {
	for name, db := range opts.Grants {
		if db.Path != "" {
			return fmt.Errorf("--grant %s=%s: each case has a database of its own, and yours is left alone (give %s=sqlite)", name, db.Path, name)
		}
	}
	for guest, dir := range directories {
		return fmt.Errorf("--grant %s=%s: a directory is made when it is needed, and yours is left alone", guest, dir)
	}
	return nil
}

// readGrant reads NAME=sqlite, NAME=FILE.db, NAME=DSN, /GUEST=DIR or a URL.
func readGrant(text string, opts *host.PluginTest, directories map[string]string) error {
	if strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://") {
		opts.HTTP = append(opts.HTTP, text)
		return nil
	}
	name, place, ok := strings.Cut(text, "=")
	if !ok || name == "" || place == "" {
		return errors.New("--grant wants NAME=sqlite or NAME=DSN, such as ledger=env:DATABASE_URL, or a URL")
	}
	switch {
	case strings.HasPrefix(name, "/"):
		dir, err := filepath.Abs(place)
		if err != nil {
			return fmt.Errorf("--grant %s: %w", name, err)
		}
		directories[name] = dir
	case place == config.SQLite:
		opts.Grants[name] = config.SQL{Driver: config.SQLite}
	case strings.HasSuffix(place, ".db"):
		path, err := filepath.Abs(place)
		if err != nil {
			return fmt.Errorf("--grant %s: %w", name, err)
		}
		opts.Grants[name] = config.SQL{Driver: config.SQLite, Path: path}
	default:
		dsn, err := referred(place)
		if err != nil {
			return fmt.Errorf("--grant %s: %w", name, err)
		}
		opts.Grants[name] = config.SQL{Driver: config.Postgres, DSN: config.NewSecret(dsn)}
	}
	return nil
}

// referred reads env:VARIABLE and file:PATH, and takes any other text as it is.
func referred(text string) (string, error) {
	if variable, ok := strings.CutPrefix(text, "env:"); ok {
		value, set := os.LookupEnv(variable)
		if !set {
			return "", fmt.Errorf("$%s is not set", variable)
		}
		return value, nil
	}
	if path, ok := strings.CutPrefix(text, "file:"); ok {
		content, err := os.ReadFile(path)
		return strings.TrimSpace(string(content)), err
	}
	return text, nil
}
