package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Problem is one thing that is wrong with a configuration.
type Problem struct {
	Key     string // its dotted path, empty for the whole
	Message string // what it must be, without its value
}

// maxProblems is how many problems are told at once.
const maxProblems = 32

// Check returns what is wrong with a configuration, a JSON text, in the order of keys.
func (s *Schema) Check(config string) []Problem {
	value, err := decode(config)
	if err != nil {
		return []Problem{{Message: "is not JSON"}}
	}
	c := checker{}
	c.check(s.root, value, "")
	return c.problems
}

type checker struct{ problems []Problem }

func (c *checker) addf(key, format string, args ...any) {
	if len(c.problems) < maxProblems {
		c.problems = append(c.problems, Problem{key, fmt.Sprintf(format, args...)})
	}
}

// check holds a value against a schema. The schema's own shape bounds how deep it goes.
func (c *checker) check(n *node, value any, key string) {
	if n.never {
		c.addf(key, "may not be given")
		return
	}
	if len(n.types) > 0 && !slices.ContainsFunc(n.types, func(t string) bool { return isType(value, t) }) {
		names := make([]string, len(n.types))
		for i, t := range n.types {
			names[i] = typeName(t)
		}
		c.addf(key, "must be %s%s", strings.Join(names, " or "), n.words())
		return
	}
	if n.enum != nil && !slices.ContainsFunc(n.enum, func(allowed any) bool { return same(allowed, value) }) {
		allowed := make([]string, len(n.enum))
		for i, v := range n.enum {
			text, _ := json.Marshal(v) //nolint:errcheck,errchkjson // it was JSON before
			allowed[i] = string(text)
		}
		c.addf(key, "must be %s%s", strings.Join(allowed, " or "), n.words())
	}
	switch value := value.(type) {
	case string:
		c.text(n, value, key)
	case json.Number:
		c.number(n, value, key)
	case []any:
		c.bounds(key, "elements", float64(len(value)), n.minItems, n.maxItems, n)
		if n.items != nil {
			for i, element := range value {
				c.check(n.items, element, key+"["+strconv.Itoa(i)+"]")
			}
		}
	case map[string]any:
		c.object(n, value, key)
	}
}

// words add a schema's description to a message.
func (n *node) words() string {
	if n.description == "" {
		return ""
	}
	return " (" + n.description + ")"
}

func (c *checker) text(n *node, value, key string) {
	c.bounds(key, "characters", float64(utf8.RuneCountInString(value)), n.minLength, n.maxLength, n)
	if n.pattern != nil && !n.pattern.MatchString(value) {
		c.addf(key, "must match %s%s", n.pattern, n.words())
	}
}

func (c *checker) bounds(key, what string, count float64, least, most *float64, n *node) {
	switch {
	case least != nil && count < *least:
		c.addf(key, "must have at least %s %s%s", number(*least), what, n.words())
	case most != nil && count > *most:
		c.addf(key, "must have at most %s %s%s", number(*most), what, n.words())
	}
}

func (c *checker) number(n *node, value json.Number, key string) {
	f, err := value.Float64()
	switch {
	case err != nil:
		c.addf(key, "must be a number of a sensible size%s", n.words())
	case n.minimum != nil && f < *n.minimum:
		c.addf(key, "must be at least %s%s", number(*n.minimum), n.words())
	case n.maximum != nil && f > *n.maximum:
		c.addf(key, "must be at most %s%s", number(*n.maximum), n.words())
	case n.aboveMinimum != nil && f <= *n.aboveMinimum:
		c.addf(key, "must be more than %s%s", number(*n.aboveMinimum), n.words())
	case n.belowLimit != nil && f >= *n.belowLimit:
		c.addf(key, "must be less than %s%s", number(*n.belowLimit), n.words())
	}
}

func (c *checker) object(n *node, object map[string]any, key string) {
	join := func(name string) string {
		if key == "" {
			return name
		}
		return key + "." + name
	}
	for _, name := range n.required {
		if _, ok := object[name]; !ok {
			words := ""
			if property := n.properties[name]; property != nil {
				words = property.words()
			}
			c.addf(join(name), "is required%s", words)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		property, known := n.properties[name]
		switch {
		case known:
			c.check(property, object[name], join(name))
		case n.additional == nil:
		case n.additional.never:
			c.addf(join(name), "unknown key%s", n.known())
		default:
			c.check(n.additional, object[name], join(name))
		}
	}
}

// known lists the keys that there are.
func (n *node) known() string {
	if len(n.properties) == 0 {
		return " (there are none here)"
	}
	return " (known: " + strings.Join(slices.Sorted(maps.Keys(n.properties)), ", ") + ")"
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// typeName names a type for people, "" when there is none of that name.
func typeName(t string) string {
	switch t {
	case "string":
		return "text"
	case "integer":
		return "a whole number"
	case "number":
		return "a number"
	case "boolean":
		return "true or false"
	case "array":
		return "a list"
	case "object":
		return "a table"
	case "null":
		return "null"
	}
	return ""
}

func isType(value any, t string) bool {
	switch v := value.(type) {
	case string:
		return t == "string"
	case bool:
		return t == "boolean"
	case []any:
		return t == "array"
	case map[string]any:
		return t == "object"
	case json.Number:
		f, err := v.Float64()
		return t == "number" || t == "integer" && err == nil && f == math.Trunc(f)
	default:
		return t == "null"
	}
}

// same compares values as JSON has them: 1 is 1.0.
func same(a, b any) bool {
	x, isNumber := asFloat(a)
	y, alsoNumber := asFloat(b)
	if isNumber && alsoNumber {
		return x == y
	}
	return reflect.DeepEqual(a, b)
}
