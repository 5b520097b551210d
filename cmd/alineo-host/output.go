package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/dustin/go-humanize"
	"golang.org/x/term"
)

// output is where a command writes: data to out, everything for people to err.
type output struct {
	out, err io.Writer
	json     bool
	quiet    bool
	terminal bool // err is a terminal
}

func newOutput(asJSON, quiet bool) *output {
	return &output{
		out: os.Stdout, err: os.Stderr, json: asJSON, quiet: quiet,
		terminal: term.IsTerminal(int(os.Stderr.Fd())),
	}
}

// notef tells people what is going on; silent with --quiet and --json.
func (o *output) notef(format string, args ...any) {
	if !o.quiet && !o.json {
		_, _ = fmt.Fprintf(o.err, format+"\n", args...)
	}
}

// progressf is a note that only a terminal sees.
func (o *output) progressf(format string, args ...any) {
	if o.terminal {
		o.notef(format, args...)
	}
}

// data prints v as one JSON value on a line of its own.
func (o *output) data(v any) error {
	enc := json.NewEncoder(o.out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("writing output: %w", err)
	}
	return nil
}

// change is what --json prints of a change that has nothing else to show.
type change struct {
	Type      string  `json:"type"` // such as paused or removed
	SandboxID string  `json:"sandboxId,omitempty"`
	Name      string  `json:"name,omitempty"`
	Path      string  `json:"path,omitempty"`
	Files     int     `json:"files,omitempty"`
	Bytes     int64   `json:"bytes,omitempty"`
	Events    *uint64 `json:"events,omitempty"`
	// Recorded is left out where nothing ever is.
	Recorded *bool `json:"recorded,omitempty"`
}

// changed tells programs of a change; people are told otherwise, or see no error.
func (o *output) changed(c change) error {
	if !o.json {
		return nil
	}
	return o.data(c)
}

// printf prints what was asked for as text.
func (o *output) printf(format string, args ...any) error {
	if _, err := fmt.Fprintf(o.out, format, args...); err != nil {
		return fmt.Errorf("writing output: %w", err)
	}
	return nil
}

// write prints bytes as they are.
func (o *output) write(data []byte) error {
	if _, err := o.out.Write(data); err != nil {
		return fmt.Errorf("writing output: %w", err)
	}
	return nil
}

// The widest cells of a table, in characters: what is in a ledger may be of any length.
const (
	maxCell = 120
	maxLast = 1000 // of the last column, which pushes nothing aside
)

// table prints rows under a header, in columns.
func (o *output) table(header []string, rows [][]string) error {
	w := tabwriter.NewWriter(o.out, 0, 8, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, strings.Join(header, "\t"))
	for _, row := range rows {
		for i, cell := range row {
			width := maxCell
			if i == len(row)-1 {
				width = maxLast
			}
			row[i] = oneLine(cell, width)
		}
		_, _ = fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("writing output: %w", err)
	}
	return nil
}

// clock shows a time of the ledger, Unix milliseconds, in local time.
func clock(ms int64) string {
	if ms == 0 {
		return "-"
	}
	return time.UnixMilli(ms).Format("2006-01-02 15:04:05")
}

// bytesText shows a number of bytes to people, in powers of 1024; less than none is none.
func bytesText[N int64 | uint64](n N) string { return humanize.IBytes(uint64(max(n, 0))) }

// count says how many of a thing there are, by the word for one of them.
func count[N int | int64 | uint64](n N, one string) string {
	switch {
	case n == 1:
		return "1 " + one
	case strings.HasSuffix(one, "x"):
		return fmt.Sprintf("%d %ses", n, one)
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// oneLine fits text into a table cell.
func oneLine(text string, width int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' ' // also what a terminal would obey
		}
		return r
	}, text)
	runes := []rune(text)
	if len(runes) > width {
		return string(runes[:width-1]) + "…"
	}
	return text
}
