package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// Position is a place in a configuration file.
type Position struct {
	File   string // as it was named; "$NAME" for a variable of the environment
	Line   int    // from 1; 0: the file as a whole
	Column int    // in bytes, from 1
}

// String is FILE:LINE:COLUMN, or as much of it as there is.
func (p Position) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Problem is one thing that is wrong with a configuration.
type Problem struct {
	Position Position
	Key      string // dotted path, empty when it is about the file
	Message  string
}

// Error is PLACE: KEY: MESSAGE, without what there is none of.
func (p Problem) Error() string {
	parts := make([]string, 0, 3)
	for _, part := range []string{p.Position.String(), p.Key, p.Message} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ": ")
}

// Problems is everything that is wrong with a configuration, in the order of the file.
type Problems []Problem

// Error has one problem a line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find each Problem.
func (ps Problems) Unwrap() []error {
	errs := make([]error, len(ps))
	for i, p := range ps {
		errs[i] = p
	}
	return errs
}

// sorted orders problems by place, those of the environment last, and drops repetitions.
func (ps Problems) sorted() Problems {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(environmentLast(a), environmentLast(b)),
			cmp.Compare(a.Position.Line, b.Position.Line),
			cmp.Compare(a.Position.Column, b.Position.Column),
			cmp.Compare(a.Key, b.Key),
			cmp.Compare(a.Message, b.Message),
		)
	})
	return slices.Compact(ps)
}

func environmentLast(p Problem) int {
	if strings.HasPrefix(p.Position.File, "$") {
		return 1
	}
	return 0
}

// asError is nil for no problems.
func (ps Problems) asError() error {
	if len(ps) == 0 {
		return nil
	}
	return ps.sorted()
}

// Problem makes a problem at the place where key stands in the file. It is for those who find out
// later that a value does not do, such as a plugin that refuses its configuration.
func (c *Config) Problem(key, message string) Problem {
	if from, ok := c.moved[key]; ok {
		key = from // what the reader finds in the file
	}
	return Problem{Position: c.Position(key), Key: key, Message: message}
}

// elementProblem is a problem of a list, at the place of one of its elements.
func (c *Config) elementProblem(path toml.Key, n int, message string) Problem {
	return Problem{Position: c.Position(element(path, n)), Key: path.String(), Message: message}
}

// Has says whether the file names a key, such as "plugins", "mine": as a table's, or as a value's.
func (c *Config) Has(key ...string) bool {
	_, named := c.index.keys[toml.Key(key).String()]
	return named
}

// Position is where key stands in the file; for a key that the file does not have, the nearest table
// around it; without any of these, the file as a whole. Parts of a key that are not bare are quoted
// as in the file: plugins.mine.config."a.b".
func (c *Config) Position(key string) Position {
	if from, ok := c.moved[key]; ok {
		key = from
	}
	if origin, ok := c.origins[key]; ok && origin.Position.Line == 0 {
		return origin.Position
	}
	for path := parseKey(key); len(path) > 0; path = path[:len(path)-1] {
		if at, ok := c.index.keys[path.String()]; ok {
			return Position{File: c.file, Line: at.line, Column: at.column}
		}
	}
	return Position{File: c.file}
}
