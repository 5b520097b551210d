package lifecycle

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxBody bounds a request's body.
const maxBody = 4 << 20

// body is a JSON object of a request, read field by field, with every fault
// collected.
type body struct {
	fields map[string]any
	loc    []any
	faults *details
}

// readBody reads the request's JSON object. With optional, nothing at all is
// an empty object.
func readBody(w http.ResponseWriter, r *http.Request, optional bool) (body, error) {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return body{}, problem(http.StatusRequestEntityTooLarge, codeUnknown, "the request body is larger than %d bytes", maxBody)
		}
		return body{}, problem(http.StatusBadRequest, codeUnknown, "reading the request body: %v", err)
	}
	return parseBody(raw, optional)
}

func parseBody(raw []byte, optional bool) (body, error) {
	b := body{fields: map[string]any{}, loc: []any{"body"}, faults: new(details)}
	if len(raw) == 0 {
		if optional {
			return b, nil
		}
		return b, details{{Type: "missing", Loc: b.loc, Msg: "Field required"}}
	}
	var v any
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.UseNumber()
	err := dec.Decode(&v)
	if err == nil && dec.More() {
		err = errors.New("Extra data") //nolint:staticcheck // the original's words
	}
	if err != nil {
		return b, details{{
			Type: "json_invalid", Loc: []any{"body", dec.InputOffset()}, Msg: "JSON decode error",
			Input: map[string]any{}, Ctx: map[string]string{"error": err.Error()},
		}}
	}
	if v == nil && optional {
		return b, nil
	}
	obj, ok := v.(map[string]any)
	if !ok {
		return b, details{{
			Type: "model_attributes_type", Loc: b.loc,
			Msg: "Input should be a valid dictionary or object to extract fields from", Input: v,
		}}
	}
	b.fields = obj
	return b, nil
}

// err is nil when no fault was found.
func (b body) err() error {
	if len(*b.faults) == 0 {
		return nil
	}
	return *b.faults
}

func (b body) at(keys ...any) []any { return append(append([]any{}, b.loc...), keys...) }

func (b body) fault(kind, msg string, input any, ctx any, keys ...any) {
	*b.faults = append(*b.faults, detail{Type: kind, Loc: b.at(keys...), Msg: msg, Input: input, Ctx: ctx})
}

// wrong is a fault of the whole object, found by a rule over several fields.
func (b body) wrong(msg string) {
	b.fault("value_error", "Value error, "+msg, b.fields, map[string]any{"error": map[string]any{}})
}

// has tells whether a field is there and not null.
func (b body) has(key string) bool { return b.fields[key] != nil }

func (b body) missing(key string) {
	b.fault("missing", "Field required", b.fields, nil, key)
}

// text is a string field; "" when absent.
func (b body) text(key string) string {
	v := b.fields[key]
	if v == nil {
		return ""
	}
	s, ok := v.(string)
	if !ok {
		b.fault("string_type", "Input should be a valid string", v, nil, key)
	}
	return s
}

// required is a string field that must be there with at least one character.
func (b body) required(key string) string {
	if _, ok := b.fields[key]; !ok {
		b.missing(key)
		return ""
	}
	if b.fields[key] == nil {
		b.fault("string_type", "Input should be a valid string", nil, nil, key)
		return ""
	}
	return b.text(key)
}

// integer is a whole number; ok is false when it is absent or wrong.
func (b body) integer(key string) (n int64, ok bool) {
	v := b.fields[key]
	if v == nil {
		return 0, false
	}
	switch x := v.(type) {
	case json.Number:
		if n, err := x.Int64(); err == nil {
			return n, true
		}
		f, err := x.Float64()
		if err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			return int64(f), true
		}
		if err == nil && f != math.Trunc(f) {
			b.fault("int_from_float", "Input should be a valid integer, got a number with a fractional part", x, nil, key)
			return 0, false
		}
	case string:
		if n, err := strconv.ParseInt(strings.TrimSpace(x), 10, 64); err == nil {
			return n, true
		}
		b.fault("int_parsing", "Input should be a valid integer, unable to parse string as an integer", x, nil, key)
		return 0, false
	}
	b.fault("int_type", "Input should be a valid integer", v, nil, key)
	return 0, false
}

func (b body) boolean(key string) bool {
	v := b.fields[key]
	if v == nil {
		return false
	}
	x, ok := v.(bool)
	if !ok {
		b.fault("bool_type", "Input should be a valid boolean", v, nil, key)
	}
	return x
}

// texts is a list of strings with at least least of them; nil when absent.
func (b body) texts(key string, least int) []string {
	v := b.fields[key]
	if v == nil {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		b.fault("list_type", "Input should be a valid list", v, nil, key)
		return nil
	}
	if len(list) < least {
		b.fault("too_short", "List should have at least 1 item after validation, not 0", v,
			map[string]any{"field_type": "List", "min_length": least, "actual_length": len(list)}, key)
		return nil
	}
	out := make([]string, 0, len(list))
	for i, e := range list {
		s, ok := e.(string)
		if !ok {
			b.fault("string_type", "Input should be a valid string", e, nil, key, i)
			continue
		}
		out = append(out, s)
	}
	return out
}

// pairs is an object of strings; null values are skipped where nulls says so.
func (b body) pairs(key string, nulls bool) map[string]string {
	v := b.fields[key]
	if v == nil {
		return nil
	}
	obj, ok := v.(map[string]any)
	if !ok {
		b.fault("dict_type", "Input should be a valid dictionary", v, nil, key)
		return nil
	}
	out := make(map[string]string, len(obj))
	for k, e := range obj {
		if e == nil && nulls {
			continue
		}
		s, ok := e.(string)
		if !ok {
			b.fault("string_type", "Input should be a valid string", e, nil, key, k)
			continue
		}
		if utf8.ValidString(k) {
			out[k] = s
		}
	}
	return out
}

// object is a field that is an object itself; ok is false when it is absent
// or wrong.
func (b body) object(key string) (sub body, ok bool) {
	v := b.fields[key]
	if v == nil {
		return body{}, false
	}
	obj, ok := v.(map[string]any)
	if !ok {
		b.fault("model_attributes_type", "Input should be a valid dictionary or object to extract fields from", v, nil, key)
		return body{}, false
	}
	return body{fields: obj, loc: b.at(key), faults: b.faults}, true
}

// objects is a list of objects.
func (b body) objects(key string) []body {
	v := b.fields[key]
	if v == nil {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		b.fault("list_type", "Input should be a valid list", v, nil, key)
		return nil
	}
	out := make([]body, 0, len(list))
	for i, e := range list {
		obj, ok := e.(map[string]any)
		if !ok {
			b.fault("model_attributes_type", "Input should be a valid dictionary or object to extract fields from", e, nil, key, i)
			continue
		}
		out = append(out, body{fields: obj, loc: b.at(key, i), faults: b.faults})
	}
	return out
}

// shaped is a string that a pattern has to match and that may not be too
// long; 0 is no bound.
func (b body) shaped(key, value string, pattern *regexp.Regexp, longest int) {
	if _, ok := b.fields[key].(string); !ok {
		return // absent, or a fault already
	}
	if longest > 0 && utf8.RuneCountInString(value) > longest {
		b.fault("string_too_long", "String should have at most "+strconv.Itoa(longest)+" characters", value, map[string]int{"max_length": longest}, key)
		return
	}
	if !pattern.MatchString(value) {
		b.fault("string_pattern_mismatch", "String should match pattern '"+pattern.String()+"'", value, map[string]string{"pattern": pattern.String()}, key)
	}
}
