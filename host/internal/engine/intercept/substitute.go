package intercept

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/alineo-labs/alineo-host/host/internal/engine/vault"
)

// maxSubstituted is the longest body, in bytes, in which placeholders are looked for. A longer one goes
// out as it is.
const maxSubstituted = 1 << 20

// errValue tells that a value would break the part of the request that it was for.
var errValue = errors.New("credential doesn't fit into that part of the request")

// replacer replaces the placeholders of one part, in one pass: a value is never looked into. It is nil
// when there are none.
func replacer(in *vault.Injection, part string, encode func(string) string) *strings.Replacer {
	subs := slices.Clone(in.Substitutions)
	// The replacer takes the first that fits: let that be the longest.
	slices.SortStableFunc(subs, func(a, b vault.InjectedText) int { return len(b.Placeholder) - len(a.Placeholder) })
	var pairs []string
	for _, s := range subs {
		if slices.Contains(s.In, part) {
			pairs = append(pairs, s.Placeholder, encode(string(s.Value)))
		}
	}
	if pairs == nil {
		return nil
	}
	return strings.NewReplacer(pairs...)
}

func asIs(s string) string { return s }

// percent encodes a value for a path or a query, where nothing of it may mean anything.
func percent(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// substituteTarget returns path and query with credentials in them.
func substituteTarget(in *vault.Injection, p, query string) (string, string, error) {
	if r := replacer(in, vault.InPath, percent); r != nil {
		after := r.Replace(p)
		if after != p && (strings.Contains(strings.ToLower(after), "%2f") || !plainPath(after)) {
			return "", "", errValue
		}
		p = after
	}
	if r := replacer(in, vault.InQuery, percent); r != nil {
		query = r.Replace(query)
	}
	return p, query, nil
}

// substituteHeaders puts credentials into headers that aren't about the message itself.
func substituteHeaders(in *vault.Injection, h http.Header) error {
	r := replacer(in, vault.InHeader, asIs)
	if r == nil {
		return nil
	}
	for name, values := range h {
		if ofMessage(name) {
			continue
		}
		for i, v := range values {
			after := r.Replace(v)
			if after != v && strings.ContainsFunc(after, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
				return errValue
			}
			values[i] = after
		}
	}
	return nil
}

func ofMessage(name string) bool {
	switch strings.ToLower(name) {
	case "host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "proxy-authorization",
		"proxy-authenticate", "forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto":
		return true
	}
	return false
}

// substituteBody puts credentials into a body that is text, is not compressed, has no parts and is not
// too long.
func substituteBody(in *vault.Injection, r *http.Request) error {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")) // "" when it can't be read
	encode := asIs
	switch {
	case kind == "application/json" || strings.HasSuffix(kind, "+json"):
		encode = inJSON
	case kind == "application/x-www-form-urlencoded":
		encode = url.QueryEscape
	case strings.HasPrefix(kind, "multipart/"):
		return nil
	}
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return nil
	}
	rep := replacer(in, vault.InBody, encode)
	if rep == nil || r.Body == nil || r.ContentLength == 0 || r.ContentLength > maxSubstituted {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxSubstituted+1))
	if err != nil {
		return err //nolint:wrapcheck // told by its kind
	}
	if len(body) > maxSubstituted || !utf8.Valid(body) {
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(body), r.Body), r.Body}
		return nil
	}
	after := rep.Replace(string(body))
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(after)), int64(len(after))
	return nil
}
