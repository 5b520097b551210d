package store

import "bytes"

// Circle finds out that pages lead in a circle: a store may be anybody's, and who walks over them would
// never come to an end. The zero value is for the first page.
type Circle struct {
	kept         []byte // the cursor that others are compared with
	pages, power int    // it is that of the last page whose number is a power of two
}

// Closes takes the cursor of a page that has another behind it, and reports whether it has come before. In
// a circle it says so after at most three times as many pages as are in it and before it.
func (c *Circle) Closes(cursor []byte) bool {
	if c.pages > 0 && bytes.Equal(cursor, c.kept) {
		return true
	}
	if c.pages++; c.pages >= c.power {
		c.kept, c.power = bytes.Clone(cursor), 2*c.pages
	}
	return false
}
