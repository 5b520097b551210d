package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/BurntSushi/toml"

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

// pluginGrants reads NAME=sqlite and NAME=DSN.
func pluginGrants(list []string) (map[string]config.SQL, error) {
	grants := map[string]config.SQL{}
	for _, text := range list {
		name, place, ok := strings.Cut(text, "=")
		if !ok || name == "" || place == "" {
			return nil, errors.New("--grant wants NAME=sqlite or NAME=DSN, such as ledger=env:DATABASE_URL")
		}
		if place == config.SQLite {
			grants[name] = config.SQL{Driver: config.SQLite}
			continue
		}
		dsn, err := referred(place)
		if err != nil {
			return nil, fmt.Errorf("--grant %s: %w", name, err)
		}
		grants[name] = config.SQL{Driver: config.Postgres, DSN: config.NewSecret(dsn)}
	}
	return grants, nil
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
