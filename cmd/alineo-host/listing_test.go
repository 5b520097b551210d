package main

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/store"
)

// pages is a ledger that is nothing but its listing, each cursor a page.
type pages struct {
	store.Ledger
	list map[string]store.DetailsPage
}

func (p pages) ListSandboxes(_ context.Context, opts store.ListOptions) (store.DetailsPage, error) {
	return p.list[string(opts.Cursor)], nil
}

func TestEachSandbox(t *testing.T) {
	t.Parallel()
	page := func(id, next string) store.DetailsPage {
		return store.DetailsPage{Sandboxes: []store.Details{{SandboxID: id}}, Cursor: []byte(next), More: next != ""}
	}
	for _, tc := range []struct {
		list map[string]store.DetailsPage
		want []string
		err  error
	}{
		{map[string]store.DetailsPage{"": page("1", "b"), "b": page("2", "c"), "c": page("3", "")}, []string{"1", "2", "3"}, nil},
		{map[string]store.DetailsPage{"": page("1", "b"), "b": page("2", "b")}, []string{"1", "2"}, errCircle},
		{map[string]store.DetailsPage{"": page("1", "b"), "b": page("2", "c"), "c": page("3", "d"), "d": page("4", "b")}, nil, errCircle},
	} {
		var got []string
		var last error
		for d, err := range eachSandbox(t.Context(), pages{list: tc.list}, store.ListOptions{}) {
			if last = err; err == nil {
				got = append(got, d.SandboxID)
			}
		}
		if !errors.Is(last, tc.err) || tc.want != nil && !slices.Equal(got, tc.want) || len(got) > 20 {
			t.Errorf("got %v, %v, want %v, %v", got, last, tc.want, tc.err)
		}
	}
}

func TestParseMoment(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("", 3600)
	now := time.Date(2026, 11, 30, 14, 0, 0, 0, zone)
	for text, want := range map[string]time.Time{
		"2026-11-30":                time.Date(2026, 11, 30, 0, 0, 0, 0, zone),
		"2026-11-30 13:05":          time.Date(2026, 11, 30, 13, 5, 0, 0, zone),
		"2026-11-30 13:05:09":       time.Date(2026, 11, 30, 13, 5, 9, 0, zone),
		"2026-11-30T13:05:09Z":      time.Date(2026, 11, 30, 14, 5, 9, 0, zone),
		"2026-11-30T13:05:09.5Z":    time.Date(2026, 11, 30, 14, 5, 9, 5e8, zone),
		"2026-11-30T13:05:09+02:00": time.Date(2026, 11, 30, 12, 5, 9, 0, zone),
		"90m":                       now.Add(-90 * time.Minute),
		"7d":                        now.Add(-7 * 24 * time.Hour),
		"1796021868508":             time.UnixMilli(1796021868508),
	} {
		if got, err := parseMoment(text, now); err != nil || got != want.UnixMilli() {
			t.Errorf("%s: got %d, %v, want %d", text, got, err, want.UnixMilli())
		}
	}
	for _, text := range []string{"", "yesterday", "-1h", "2026-13-01", "12:00"} {
		if got, err := parseMoment(text, now); err == nil {
			t.Errorf("%q: got %d", text, got)
		}
	}
}
