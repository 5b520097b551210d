package main

import (
	"fmt"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/alineo-labs/alineo-host/host/ledger"
)

// bar shows on a terminal how far a long work is.
type bar struct {
	out   *output
	verb  string // "exporting"
	width int
	drawn bool
}

const (
	barCells = 24
	barWidth = 80 // of a terminal that does not say
)

// newBar makes a bar; its tell is nil where nobody would see it.
func (o *output) newBar(verb string) *bar {
	b := &bar{out: o, verb: verb, width: barWidth}
	if width, _, err := term.GetSize(int(os.Stderr.Fd())); err == nil && width > 0 {
		b.width = width
	}
	return b
}

func (b *bar) tell() func(ledger.Progress) {
	if !b.out.terminal || b.out.quiet || b.out.json {
		return nil
	}
	return b.draw
}

func (b *bar) draw(p ledger.Progress) {
	b.drawn = true
	line := barLine(b.verb, p)
	if utf8.RuneCountInString(line) >= b.width {
		line = oneLine(line, b.width-1)
	}
	_, _ = fmt.Fprintf(b.out.err, "\r\x1b[K%s", line)
}

// done takes the bar away; what is printed next begins on its line.
func (b *bar) done() {
	if b.drawn {
		b.drawn = false
		_, _ = fmt.Fprint(b.out.err, "\r\x1b[K")
	}
}

// barLine is the bar as text, filled where the whole is known.
func barLine(verb string, p ledger.Progress) string {
	counts := count(p.Entries, "event") + ", " + count(p.Sandboxes, "sandbox")
	if p.Entries == 0 {
		counts = count(p.Sandboxes, "sandbox")
	}
	if p.Total <= 0 {
		return verb + "  " + counts
	}
	part := min(max(float64(p.Done)/float64(p.Total), 0), 1) // there may be more meanwhile
	full := int(part * barCells)
	return fmt.Sprintf("%s  [%s%s] %3.0f%%  %s", verb, strings.Repeat("#", full), strings.Repeat(".", barCells-full), part*100, counts)
}
