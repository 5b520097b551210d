package serve

import (
	"io"
	"math"
	"net/http"

	"github.com/alineo-labs/alineo-host/host/store"
)

func (s *Server) getInstance(w http.ResponseWriter, r *http.Request) error {
	record, found, err := s.stores.Instances.Get(r.Context(), r.PathValue("key"))
	if err != nil {
		return err
	}
	if !found {
		return &httpError{http.StatusNotFound, "not_found", "there is no instance of this key"}
	}
	return writeJSON(w, http.StatusOK, record)
}

// putInstance replaces a record whole; with ?expected=ID only the one of that sandbox, with ?absent=true
// only none.
func (s *Server) putInstance(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r, "expected", "absent")
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	record, err := decodeInstance(data, r.PathValue("key"))
	if err == nil {
		err = q.err
	}
	if err != nil {
		return err
	}
	if !q.values.Has("expected") && q.values.Get("absent") != "true" {
		if err := s.stores.Instances.Put(r.Context(), record); err != nil {
			return err
		}
		return empty(w)
	}
	var expected *string
	if q.values.Has("expected") {
		id := q.values.Get("expected")
		expected = &id
	}
	done, err := s.stores.Instances.PutIf(r.Context(), record, expected)
	return conditional(w, done, err)
}

func (s *Server) deleteInstance(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r, "expected")
	if q.err != nil {
		return q.err
	}
	if !q.values.Has("expected") {
		if err := s.stores.Instances.Delete(r.Context(), r.PathValue("key")); err != nil {
			return err
		}
		return empty(w)
	}
	done, err := s.stores.Instances.DeleteIf(r.Context(), r.PathValue("key"), q.values.Get("expected"))
	return conditional(w, done, err)
}

func conditional(w http.ResponseWriter, done bool, err error) error {
	if err != nil {
		return err
	}
	if !done {
		return &httpError{http.StatusPreconditionFailed, "conflict", "the stored record is not the one that was expected; nothing was changed"}
	}
	return empty(w)
}

func (s *Server) listInstances(w http.ResponseWriter, r *http.Request) error {
	q := queryOf(r, "updatedBefore", "cursor", "limit")
	opts := store.InstanceListOptions{UpdatedBefore: q.number("updatedBefore", math.MaxInt64), Cursor: q.cursor(), Limit: q.limit()}
	if q.err != nil {
		return q.err
	}
	page, err := s.stores.Instances.List(r.Context(), opts)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, struct {
		Instances []store.Instance `json:"instances"`
		Now       int64            `json:"now"`
		Cursor    string           `json:"cursor,omitempty"`
	}{orNone(page.Instances), page.Now, next(page.Cursor, page.More)})
}

// orNone makes no list an empty one.
func orNone[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
