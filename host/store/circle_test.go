package store_test

import (
	"testing"

	"github.com/alineo-labs/alineo-host/host/store"
)

// Wherever a circle begins and however long it is, it is found; where there is none, none is.
func TestCircle(t *testing.T) {
	t.Parallel()
	for before := range 40 {
		for length := 1; length < 40; length++ {
			var circle store.Circle
			pages := 0
			for ; !circle.Closes([]byte{byte(min(pages, before+(pages-before)%length))}); pages++ {
				if pages > 3*(before+length) {
					t.Fatalf("a circle of %d pages behind %d others is not found", length, before)
				}
			}
			if pages < before+length {
				t.Fatalf("a circle of %d pages behind %d others is found after %d", length, before, pages)
			}
		}
	}
	var circle store.Circle
	for page := range 10_000 {
		if circle.Closes([]byte{byte(page), byte(page >> 8)}) {
			t.Fatalf("page %d closes no circle", page)
		}
	}
}
