package capability

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/alineo-labs/alineo-host/abi"
	"github.com/alineo-labs/alineo-host/host/credential"
)

// firstError is the first status whose body may be shown though nothing could be hidden in it.
const firstError = 400

// reply is what the guest sees: secrets taken out first, those that it sent redacted after that.
func (x *exchange) reply(resp *http.Response, body []byte) *abi.HTTPReply {
	reply := &abi.HTTPReply{Status: uint64(resp.StatusCode)}
	if len(x.m.Extract)+len(x.m.Hide) > 0 {
		body, reply.Secrets = x.extract(body, resp.StatusCode)
	}
	reply.Body = redactBytes(body, x.spent)
	for _, name := range slices.Sorted(maps.Keys(resp.Header)) {
		for _, value := range resp.Header[name] {
			if !utf8.ValidString(name) || len(reply.Headers) == abi.MaxSteps {
				continue
			}
			reply.Headers = append(reply.Headers, abi.HTTPField{Name: name, Value: strings.ToValidUTF8(redactText(value, x.spent), "?")})
		}
	}
	return reply
}

// extract turns texts of a JSON body into secrets, and what is to be hidden into null.
func (x *exchange) extract(body []byte, status int) (shown []byte, handles []uint64) {
	handles = make([]uint64, len(x.m.Extract))
	var root any
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if err := decoder.Decode(&root); err != nil || decoder.More() {
		if status >= firstError {
			return body, handles
		}
		return nil, handles
	}
	for i, pointer := range x.m.Extract {
		if text, ok := asText(find(root, pointer)); ok {
			handles[i] = x.call.PutSecret(credential.NewSecret(text))
		}
	}
	for _, pointer := range slices.Concat(x.m.Extract, x.m.Hide) {
		root = hide(root, pointer)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(root); err != nil {
		return nil, handles
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), handles
}

// asText is a secret's value: a text, or a number as it was written.
func asText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	}
	return "", false
}

// steps splits a JSON pointer (RFC 6901); nil when it is none.
func steps(pointer string) []string {
	if pointer == "" {
		return []string{}
	}
	if pointer[0] != '/' {
		return nil
	}
	parts := strings.Split(pointer[1:], "/")
	for i := range parts {
		parts[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(parts[i])
	}
	return parts
}

// find returns what a pointer leads to, nil when that is nothing.
func find(node any, pointer string) any {
	parts := steps(pointer)
	if parts == nil {
		return nil
	}
	for _, part := range parts {
		switch at := node.(type) {
		case map[string]any:
			node = at[part]
		case []any:
			i, ok := index(at, part)
			if !ok {
				return nil
			}
			node = at[i]
		default:
			return nil
		}
	}
	return node
}

func index(list []any, part string) (int, bool) {
	i, err := strconv.Atoi(part)
	return i, err == nil && i >= 0 && i < len(list) && strconv.Itoa(i) == part
}

// hide puts null where a pointer leads. A pointer that is none hides everything.
func hide(root any, pointer string) any {
	parts := steps(pointer)
	if len(parts) == 0 {
		return nil
	}
	last := parts[len(parts)-1]
	above := pointer[:strings.LastIndexByte(pointer, '/')]
	switch at := find(root, above).(type) {
	case map[string]any:
		if _, ok := at[last]; ok {
			at[last] = nil
		}
	case []any:
		if i, ok := index(at, last); ok {
			at[i] = nil
		}
	}
	return root
}

// encodeSecret writes a value as a part says.
func encodeSecret(value string, encoding abi.PartEncoding) (string, bool) {
	switch encoding {
	case abi.PartRaw:
		return value, true
	case abi.PartJSON:
		return jsonText(value), true
	case abi.PartBase64:
		return base64.StdEncoding.EncodeToString([]byte(value)), true
	case abi.PartURL:
		return strings.ReplaceAll(url.QueryEscape(value), "+", "%20"), true
	}
	return "", false
}

// jsonText escapes a value for the inside of a JSON string, < > & left alone.
func jsonText(value string) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Sprintf("%q", "") // a string can always be encoded
	}
	return strings.TrimSuffix(strings.TrimPrefix(out.String(), `"`), "\"\n")
}

// shortest is the length from which on a value is looked for in replies: shorter ones are in any text.
const shortest = 4 // bytes

// redactor replaces values in every form that they could have been repeated in. Nil when there are none.
func redactor(values []string) *strings.Replacer {
	var pairs []string
	for _, value := range values {
		if len(value) < shortest {
			continue
		}
		for _, form := range []string{
			value, jsonText(value), strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`).Replace(jsonText(value)), url.QueryEscape(value), url.PathEscape(value),
			base64.StdEncoding.EncodeToString([]byte(value)), base64.RawStdEncoding.EncodeToString([]byte(value)),
			base64.URLEncoding.EncodeToString([]byte(value)), base64.RawURLEncoding.EncodeToString([]byte(value)),
		} {
			pairs = append(pairs, form, "[REDACTED]")
		}
	}
	if pairs == nil {
		return nil
	}
	return strings.NewReplacer(pairs...)
}

func redactText(text string, values []string) string {
	if r := redactor(values); r != nil {
		return r.Replace(text)
	}
	return text
}

func redactBytes(body []byte, values []string) []byte {
	if len(body) == 0 {
		return body
	}
	if r := redactor(values); r != nil {
		return []byte(r.Replace(string(body)))
	}
	return body
}
