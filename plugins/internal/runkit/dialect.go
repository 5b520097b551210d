package runkit

import "strings"

// Dialect is how a database says what databases say differently. Statements are written with parameters
// $1, $2, …, and with {} before the names of tables.
type Dialect struct {
	Prefix   string // stands before the names of tables
	Question bool   // parameters are ?1, ?2, …
	Now      string // the clock, Unix milliseconds
	Token    string // a text that nobody has seen before
	Bytes    string // makes a comparison of texts one of bytes, as a suffix; empty where all are
	Integer  string // the type of 64-bit integers
	Blob     string // the type of bytes
	Rows     string // what follows the definition of a table that is read in the order of its key
	Skip     string // makes a query pass over rows that others are changing, and lock the rest; empty where none can
	Small    string // what follows the definition of a table whose rows change all the time
	// Insert adds the events of a batch, over the columns run, the tail that they end at, behind, kind and
	// data. InsertMany is its form for arrays, empty where the database has none.
	Insert, InsertMany string
}

// words writes statements in the dialect.
func (d *Dialect) words() *strings.Replacer {
	parameter := "$"
	if d.Question {
		parameter = "?"
	}
	return strings.NewReplacer("{}", d.Prefix, "{now}", d.Now, "{token}", d.Token, "{bytes}", d.Bytes,
		"{integer}", d.Integer, "{blob}", d.Blob, "{rows}", d.Rows, "{small}", d.Small, "{skip}", d.Skip, "$", parameter)
}
