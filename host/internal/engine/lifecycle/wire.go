package lifecycle

import (
	"time"
)

// The messages of the wire, as far as we send them.

// stamp is a time as the original prints it: UTC, microseconds when there are
// any.
type stamp time.Time

func (t stamp) MarshalJSON() ([]byte, error) {
	layout := `"2006-01-02T15:04:05.000000Z"`
	u := time.Time(t).UTC().Truncate(time.Microsecond)
	if u.Nanosecond() == 0 {
		layout = `"2006-01-02T15:04:05Z"`
	}
	return []byte(u.Format(layout)), nil
}

func stampOf(t time.Time) *stamp {
	if t.IsZero() {
		return nil
	}
	s := stamp(t)
	return &s
}

type wireStatus struct {
	State            string `json:"state"`
	Reason           string `json:"reason,omitempty"`
	Message          string `json:"message,omitempty"`
	LastTransitionAt *stamp `json:"lastTransitionAt,omitempty"`
}

type wireImage struct {
	URI string `json:"uri"`
}

type wireSandbox struct {
	ID         string            `json:"id"`
	Image      *wireImage        `json:"image,omitempty"`
	SnapshotID string            `json:"snapshotId,omitempty"`
	Platform   *wirePlatform     `json:"platform,omitempty"`
	Status     wireStatus        `json:"status"`
	Metadata   map[string]string `json:"metadata,omitempty"`
	Entrypoint []string          `json:"entrypoint,omitempty"`
	ExpiresAt  *stamp            `json:"expiresAt,omitempty"`
	CreatedAt  stamp             `json:"createdAt"`
}

type wirePlatform struct {
	OS   string `json:"os"`
	Arch string `json:"arch"`
}

type wireSnapshot struct {
	ID        string     `json:"id"`
	SandboxID string     `json:"sandboxId"`
	Name      string     `json:"name,omitempty"`
	Status    wireStatus `json:"status"`
	CreatedAt stamp      `json:"createdAt"`
}

type wirePage struct {
	Page        int  `json:"page"`
	PageSize    int  `json:"pageSize"`
	TotalItems  int  `json:"totalItems"`
	TotalPages  int  `json:"totalPages"`
	HasNextPage bool `json:"hasNextPage"`
}

type wireList[T any] struct {
	Items      []T      `json:"items"`
	Pagination wirePage `json:"pagination"`
}

// paged cuts one page out of all.
func paged[T any](all []T, page, size int) wireList[T] {
	n := len(all)
	p := wirePage{Page: page, PageSize: size, TotalItems: n, TotalPages: (n + size - 1) / size}
	p.HasNextPage = page < p.TotalPages
	items := []T{}
	if page <= p.TotalPages {
		first := (page - 1) * size
		items = all[first:min(first+size, n)]
	}
	return wireList[T]{Items: items, Pagination: p}
}
