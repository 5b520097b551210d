package serve

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/alineo-labs/alineo-host/host/store"
)

// read reads a request's body into v.
func read(r *http.Request, v any) error {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return err
		}
		return invalid("the body could not be read: %v", err)
	}
	return decode(data, v)
}

// decode decodes one JSON object into v, a pointer to a struct. Members that are not known are refused, and so is
// null, which some mean as "absent" and others as "clear".
func decode(data []byte, v any) error {
	if err := noNulls(data); err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(v); err != nil {
		return invalid("the body is not what is wanted: %v", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return invalid("something follows the JSON object")
	}
	return nil
}

// noNulls refuses what is no object, or has a null as a member.
func noNulls(data []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return invalid("the body is no JSON object: %v", err)
	}
	if members == nil {
		return invalid("the body is null, not an object")
	}
	for name, value := range members {
		if string(bytes.TrimSpace(value)) == "null" {
			return invalid("%q is null: leave it out", name)
		}
	}
	return nil
}

// decodePatch decodes a patch of a run: {"set":{…},"clear":[…]}.
func decodePatch(data []byte) (store.RunPatch, error) {
	var body struct {
		Set   json.RawMessage  `json:"set"`
		Clear []store.RunField `json:"clear"`
		Now   []store.RunField `json:"now"`
	}
	if err := decode(data, &body); err != nil {
		return store.RunPatch{}, err
	}
	patch := store.RunPatch{Clear: body.Clear, Now: body.Now}
	if body.Set != nil {
		if err := decode(body.Set, &patch.Set); err != nil {
			return store.RunPatch{}, fmt.Errorf("set: %w (what is to be absent is named in clear)", err)
		}
	}
	if usage := patch.Set.Usage; usage != nil && bytes.TrimSpace(usage)[0] != '{' {
		return store.RunPatch{}, invalid("usage is no object")
	}
	if err := patch.Validate(); err != nil {
		return store.RunPatch{}, err
	}
	return patch, nil
}

// decodeInstance decodes the record of a key.
func decodeInstance(data []byte, key string) (store.Instance, error) {
	record := store.Instance{Key: key}
	if err := decode(data, &record); err != nil {
		return store.Instance{}, err
	}
	switch {
	case record.Key != key:
		return store.Instance{}, invalid("the record's key is %q, the address says %q", record.Key, key)
	case record.Provider == "", record.ProviderSandboxID == "", record.ThreadID == "":
		return store.Instance{}, invalid("a record needs provider, providerSandboxId and threadId")
	case record.UpdatedAt < 0:
		return store.Instance{}, invalid("updatedAt is before 1970")
	}
	return record, nil
}

// query reads parameters of an address. The first mistake is kept; parameters that nobody asked for are one.
type query struct {
	values url.Values
	err    error
}

func queryOf(r *http.Request, allowed ...string) *query {
	q := &query{}
	if q.values, q.err = url.ParseQuery(r.URL.RawQuery); q.err != nil {
		q.err = invalid("the query can't be read: %v", q.err)
	}
	for name := range q.values {
		known := false
		for _, a := range allowed {
			known = known || a == name
		}
		if !known && q.err == nil {
			q.err = invalid("there is no parameter %q (there is: %q)", name, allowed)
		}
	}
	return q
}

func (q *query) number(name string, most int64) *int64 {
	if !q.values.Has(name) {
		return nil
	}
	n, err := strconv.ParseInt(q.values.Get(name), 10, 64)
	if (err != nil || n < 0 || n > most) && q.err == nil {
		q.err = invalid("%s=%q is no number from 0 to %d", name, q.values.Get(name), most)
	}
	return &n
}

// maxPage is how many records a page may have.
const maxPage = 1000

func (q *query) limit() int {
	if n := q.number("limit", maxPage); n != nil {
		return int(*n)
	}
	return 0
}

func (q *query) cursor() []byte {
	data, err := base64.RawURLEncoding.DecodeString(q.values.Get("cursor"))
	if err != nil && q.err == nil {
		q.err = invalid("cursor is none that this server gave out")
	}
	return data
}

// next is the cursor of the page after, empty when there is none.
func next(cursor []byte, more bool) string {
	if !more {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(cursor)
}
