package lifecycle

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

func (s *Server) createSandbox(w http.ResponseWriter, r *http.Request) error {
	b, err := readBody(w, r, false)
	if err != nil {
		return err
	}
	q, err := parseCreate(b)
	if err != nil {
		return err
	}
	box, err := s.m.create(r.Context(), q)
	if err != nil {
		return err
	}
	out := box.wire()
	out.Image, out.SnapshotID = nil, "" // the answer to create has neither
	writeJSON(w, http.StatusAccepted, out)
	return nil
}

func (s *Server) getSandbox(w http.ResponseWriter, _ *http.Request, id string) error {
	box, err := s.m.sandbox(id)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, box.wire())
	return nil
}

func (s *Server) deleteSandbox(w http.ResponseWriter, r *http.Request, id string) error {
	if err := s.m.delete(r.Context(), id); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) listSandboxes(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	page, size, err := paging(q)
	if err != nil {
		return err
	}
	metadata, err := metadataFilter(q.Get("metadata"))
	if err != nil {
		return err
	}
	boxes := s.m.list(q["state"], metadata)
	cut := paged(boxes, page, size)
	out := wireList[wireSandbox]{Items: make([]wireSandbox, len(cut.Items)), Pagination: cut.Pagination}
	for i, b := range cut.Items {
		out.Items[i] = b.wire()
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

// metadataFilter reads the metadata parameter, a query string in itself.
func metadataFilter(v string) (map[string]string, error) {
	if v == "" {
		return nil, nil
	}
	bad := problem(http.StatusBadRequest, codeMetadataFormat, "Invalid metadata filter format: %q", v)
	filter := map[string]string{}
	for pair := range strings.SplitSeq(v, "&") {
		key, value, ok := strings.Cut(pair, "=")
		k, err1 := url.QueryUnescape(key)
		val, err2 := url.QueryUnescape(value)
		if !ok || k == "" || err1 != nil || err2 != nil {
			return nil, bad
		}
		filter[k] = val
	}
	return filter, nil
}

const (
	defaultPage = 20
	largestPage = 200
)

func paging(q url.Values) (page, size int, err error) {
	var faults details
	page, size = number(q, &faults, "page", 1, 0), number(q, &faults, "pageSize", defaultPage, largestPage)
	if faults != nil {
		return 0, 0, faults
	}
	return min(page, 1<<40), size, nil
}

// number reads a query parameter that is at least 1 and at most most, if that
// isn't 0; def when it is absent.
func number(q url.Values, faults *details, name string, def, most int) int {
	v := q.Get(name)
	if !q.Has(name) {
		return def
	}
	n, err := strconv.Atoi(strings.TrimSpace(v))
	loc := []any{"query", name}
	switch {
	case err != nil:
		*faults = append(*faults, detail{
			Type: "int_parsing", Loc: loc, Input: v,
			Msg: "Input should be a valid integer, unable to parse string as an integer",
		})
	case n < 1:
		*faults = append(*faults, detail{
			Type: "greater_than_equal", Loc: loc, Input: v, Ctx: map[string]int{"ge": 1},
			Msg: "Input should be greater than or equal to 1",
		})
	case most > 0 && n > most:
		*faults = append(*faults, detail{
			Type: "less_than_equal", Loc: loc, Input: v, Ctx: map[string]int{"le": most},
			Msg: "Input should be less than or equal to " + strconv.Itoa(most),
		})
	}
	return n
}

func (s *Server) renew(w http.ResponseWriter, r *http.Request, id string) error {
	b, err := readBody(w, r, false)
	if err != nil {
		return err
	}
	v := b.required("expiresAt")
	if err := b.err(); err != nil {
		return err
	}
	at, ok := parseTime(v)
	if !ok {
		b.fault("datetime_from_date_parsing", "Input should be a valid datetime or date, input is too short", v,
			map[string]string{"error": "input is too short"}, "expiresAt")
		return b.err()
	}
	if err := s.m.renew(r.Context(), id, at); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, map[string]stamp{"expiresAt": stamp(at)})
	return nil
}

// parseTime reads RFC 3339, and a time without a zone as UTC.
func parseTime(v string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999"} {
		if t, err := time.Parse(layout, v); err == nil {
			return t.UTC().Truncate(time.Microsecond), true
		}
	}
	return time.Time{}, false
}

// snapshotPatience is how long an answer waits for a snapshot to be ready:
// most are, and their clients need not ask again.
const snapshotPatience = 2 * time.Second

func (s *Server) createSnapshot(w http.ResponseWriter, r *http.Request, id string) error {
	b, err := readBody(w, r, true)
	if err != nil {
		return err
	}
	name := b.text("name")
	if v, there := b.fields["name"].(string); there && v == "" {
		b.fault("string_too_short", "String should have at least 1 character", v, map[string]int{"min_length": 1}, "name")
	}
	if err := b.err(); err != nil {
		return err
	}
	snap, done, err := s.m.takeSnapshot(id, name)
	if err != nil {
		return err
	}
	t := time.NewTimer(snapshotPatience)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	case <-r.Context().Done():
	}
	out := snap.wire()
	w.Header().Set("Location", "/v1/snapshots/"+out.ID)
	writeJSON(w, http.StatusAccepted, out)
	return nil
}

func (s *Server) getSnapshot(w http.ResponseWriter, _ *http.Request, id string) error {
	snap, err := s.m.snapshot(id)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, snap.wire())
	return nil
}

func (s *Server) deleteSnapshot(w http.ResponseWriter, _ *http.Request, id string) error {
	if err := s.m.deleteSnapshot(id); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) listSnapshots(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	page, size, err := paging(q)
	if err != nil {
		return err
	}
	cut := paged(s.m.listSnapshots(q.Get("sandboxId"), q.Get("name"), q["state"]), page, size)
	out := wireList[wireSnapshot]{Items: make([]wireSnapshot, len(cut.Items)), Pagination: cut.Pagination}
	for i, snap := range cut.Items {
		out.Items[i] = snap.wire()
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}
