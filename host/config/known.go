package config

import (
	"net/url"
	"reflect"
	"regexp"
	"strings"
)

// leastKnown is the length in bytes of the shortest secret that EachSecret gives. A shorter one is a
// word, which would be found everywhere.
const leastKnown = 8

// EachSecret returns every secret that the configuration holds, and what of connection strings is one,
// for whoever takes them out of texts.
func (c *Config) EachSecret() []Secret {
	var all []Secret
	add := func(text string) {
		if len(text) >= leastKnown {
			all = append(all, NewSecret(text))
		}
	}
	eachSecret(reflect.ValueOf(c).Elem(), func(s Secret) {
		text := s.Reveal()
		if password, ok := passwordOf(text); ok {
			add(password)
			return
		}
		add(text)
	})
	return all
}

func eachSecret(v reflect.Value, take func(Secret)) {
	switch v.Kind() { //nolint:exhaustive // the others hold none
	case reflect.Struct:
		if s, ok := reflect.TypeAssert[Secret](v); ok {
			take(s)
			return
		}
		for field, value := range v.Fields() {
			if field.IsExported() {
				eachSecret(value, take)
			}
		}
	case reflect.Map:
		for _, value := range v.Seq2() {
			eachSecret(value, take)
		}
	case reflect.Slice:
		for _, value := range v.Seq2() {
			eachSecret(value, take)
		}
	case reflect.Interface, reflect.Pointer:
		if !v.IsNil() {
			eachSecret(v.Elem(), take)
		}
	}
}

// passwordOf returns the password of a connection string, in either form. The rest of it is no secret,
// and would be looked for in vain.
func passwordOf(text string) (string, bool) {
	if at, err := url.Parse(text); err == nil && at.User != nil && strings.Contains(text, "://") {
		password, ok := at.User.Password()
		return password, ok
	}
	words := regexp.MustCompile(`(?:^|\s)password\s*=\s*('(?:[^'\\]|\\.)*'|\S+)`)
	if found := words.FindStringSubmatch(text); found != nil {
		return strings.Trim(found[1], "'"), true
	}
	return "", false
}
