package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Bounds of a schema.
const (
	maxBytes = 256 << 10
	maxDepth = 32 // schemas within schemas
)

// Schema is a parsed schema. It is safe for concurrent use.
type Schema struct {
	root      *node
	unchecked map[string]bool
}

// node is one schema; nil fields are not given.
type node struct {
	never       bool // the schema false
	types       []string
	enum        []any
	properties  map[string]*node
	required    []string
	additional  *node
	items       *node
	pattern     *regexp.Regexp
	description string

	minItems, maxItems, minLength, maxLength   *float64
	minimum, maximum, aboveMinimum, belowLimit *float64
}

// Parse reads a schema. An empty text allows everything.
func Parse(text string) (*Schema, error) {
	s := &Schema{root: &node{}, unchecked: map[string]bool{}}
	if text == "" {
		return s, nil
	}
	if len(text) > maxBytes {
		return nil, fmt.Errorf("the schema has %d bytes, and %d are read", len(text), maxBytes)
	}
	value, err := decode(text)
	if err != nil {
		return nil, fmt.Errorf("the schema is not JSON: %w", err)
	}
	if s.root, err = s.node(value, "", 0); err != nil {
		return nil, err
	}
	return s, nil
}

// Unchecked returns the words of the schema that are left to the guest, sorted.
func (s *Schema) Unchecked() []string { return slices.Sorted(maps.Keys(s.unchecked)) }

func decode(text string) (any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the value")
	}
	return value, nil
}

// node reads a schema that stands at a path.
func (s *Schema) node(value any, at string, depth int) (*node, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("the schema is more than %d schemas deep", maxDepth)
	}
	switch value := value.(type) {
	case bool:
		return &node{never: !value}, nil
	case map[string]any:
		n := &node{}
		for _, word := range slices.Sorted(maps.Keys(value)) {
			if err := s.word(n, word, value[word], at+"/"+word, depth); err != nil {
				return nil, err
			}
		}
		return n, nil
	default:
		return nil, fmt.Errorf("the schema's %s is neither an object nor true or false", orRoot(at))
	}
}

func orRoot(at string) string {
	if at == "" {
		return "root"
	}
	return at
}

// word reads one word of a schema.
func (s *Schema) word(n *node, word string, value any, at string, depth int) error {
	var err error
	switch word {
	case "type":
		err = n.readTypes(value)
	case "enum":
		list, ok := value.([]any)
		if !ok || len(list) == 0 {
			err = errors.New("is not a list of values")
		}
		n.enum = list
	case "const":
		n.enum = []any{value}
	case "properties":
		return s.properties(n, value, at, depth)
	case "required":
		n.required, err = texts(value)
	case "additionalProperties":
		n.additional, err = s.node(value, at, depth+1)
		return err
	case "items":
		n.items, err = s.node(value, at, depth+1)
		return err
	case "pattern":
		text, ok := value.(string)
		if !ok {
			err = errors.New("is not text")
		} else if n.pattern, err = regexp.Compile(text); err != nil {
			err = fmt.Errorf("is not a pattern that the host can use: %w", err)
		}
	case "description":
		n.description, _ = value.(string) //nolint:errcheck // of another type it describes nothing
	case "$schema", "$id", "$comment", "title", "default", "examples", "format", "deprecated", "readOnly", "writeOnly":
	default:
		field := n.number(word)
		if field == nil {
			s.unchecked[word] = true
			return nil
		}
		number, ok := asFloat(value)
		if !ok {
			err = errors.New("is not a number")
		}
		*field = &number
	}
	if err != nil {
		return fmt.Errorf("the schema's %s %w", at, err)
	}
	return nil
}

// number is the field of a word whose value is a number, nil when it is none.
func (n *node) number(word string) **float64 {
	switch word {
	case "minItems":
		return &n.minItems
	case "maxItems":
		return &n.maxItems
	case "minLength":
		return &n.minLength
	case "maxLength":
		return &n.maxLength
	case "minimum":
		return &n.minimum
	case "maximum":
		return &n.maximum
	case "exclusiveMinimum":
		return &n.aboveMinimum
	case "exclusiveMaximum":
		return &n.belowLimit
	}
	return nil
}

func (s *Schema) properties(n *node, value any, at string, depth int) error {
	object, ok := value.(map[string]any)
	if !ok {
		return fmt.Errorf("the schema's %s is not an object", at)
	}
	n.properties = make(map[string]*node, len(object))
	for name, inner := range object {
		child, err := s.node(inner, at+"/"+name, depth+1)
		if err != nil {
			return err
		}
		n.properties[name] = child
	}
	return nil
}

func (n *node) readTypes(value any) error {
	if text, ok := value.(string); ok {
		value = []any{text}
	}
	types, err := texts(value)
	if err != nil || len(types) == 0 {
		return errors.New("is neither the name of a type nor a list of such")
	}
	for _, t := range types {
		if typeName(t) == "" {
			return fmt.Errorf("is %q, which is no type", t)
		}
	}
	n.types = types
	return nil
}

func texts(value any) ([]string, error) {
	list, ok := value.([]any)
	if !ok {
		return nil, errors.New("is not a list of texts")
	}
	var found []string
	for _, element := range list {
		text, ok := element.(string)
		if !ok {
			return nil, errors.New("is not a list of texts")
		}
		found = append(found, text)
	}
	return found, nil
}

func asFloat(value any) (float64, bool) {
	number, ok := value.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := number.Float64()
	return f, err == nil
}
