package lifecycle

import (
	"maps"
	"net/http"
	"regexp"
	"strings"
)

// patchMetadata applies a JSON merge patch to a sandbox's metadata.
func (s *Server) patchMetadata(w http.ResponseWriter, r *http.Request, id string) error {
	b, err := readBody(w, r, false)
	if err != nil {
		return err
	}
	set := b.pairsOrNull()
	if err := b.err(); err != nil {
		return err
	}
	box, err := s.m.sandbox(id)
	if err != nil {
		return err
	}
	added := map[string]string{}
	for k, v := range set {
		if strings.HasPrefix(k, reservedPrefix) {
			return problem(http.StatusBadRequest, codePatchLabel, "Metadata key '%s' is reserved (%s prefix).", k, reservedPrefix)
		}
		if v != nil {
			added[k] = *v
		}
	}
	if err := validMetadata(added); err != nil {
		return err
	}
	err = box.change(s.m, func(rec *record) {
		all := maps.Clone(rec.Metadata)
		if all == nil {
			all = map[string]string{}
		}
		for k, v := range set {
			if v == nil {
				delete(all, k)
				continue
			}
			all[k] = *v
		}
		rec.Metadata = all
	})
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, box.wire())
	return nil
}

// pairsOrNull reads the whole body as an object of strings and nulls.
func (b body) pairsOrNull() map[string]*string {
	out := make(map[string]*string, len(b.fields))
	for k, v := range b.fields {
		switch x := v.(type) {
		case nil:
			out[k] = nil
		case string:
			out[k] = &x
		default:
			b.fault("string_type", "Input should be a valid string", v, nil, k)
		}
	}
	return out
}

// reservedPrefix begins the keys that belong to the server.
const reservedPrefix = "opensandbox.io/"

var (
	labelName   = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`)
	labelPrefix = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
)

// validMetadata checks Kubernetes' rules for labels.
func validMetadata(m map[string]string) error {
	for k, v := range m {
		name := k
		if prefix, rest, ok := strings.Cut(k, "/"); ok {
			if len(prefix) > 253 || !labelPrefix.MatchString(prefix) {
				return problem(http.StatusBadRequest, codeInvalidLabel, "metadata key %q has an invalid prefix", k)
			}
			if prefix+"/" == reservedPrefix {
				return problem(http.StatusBadRequest, codeInvalidLabel, "metadata key %q uses the reserved prefix %s", k, reservedPrefix)
			}
			name = rest
		}
		if len(name) > 63 || !labelName.MatchString(name) {
			return problem(http.StatusBadRequest, codeInvalidLabel, "metadata key %q is not a valid label name", k)
		}
		if len(v) > 63 || (v != "" && !labelName.MatchString(v)) {
			return problem(http.StatusBadRequest, codeInvalidLabel, "metadata value %q of key %q is not a valid label value", v, k)
		}
	}
	return nil
}
