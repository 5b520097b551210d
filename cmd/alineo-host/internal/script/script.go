package script

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// MaxFile bounds a script and each file that it writes, in bytes.
const MaxFile = 64 << 20

// Kind says what a step does.
type Kind string

// The kinds of step.
const (
	Exec       Kind = "exec"
	Checkpoint Kind = "checkpoint"
	Write      Kind = "write"
	Read       Kind = "read"
)

// Step is one step of a script.
type Step struct {
	Kind Kind
	Line int    // in the file, from 1
	Text string // exec: the command; checkpoint: the name
	Path string // write and read: absolute path in the sandbox
	Data []byte // write: the content
}

// Digest identifies what a write step writes.
func (s Step) Digest() string {
	sum := sha256.Sum256(s.Data)
	return hex.EncodeToString(sum[:])
}

// String shows the step as one line of a script.
func (s Step) String() string {
	switch s.Kind {
	case Write:
		return fmt.Sprintf("write %s (%d bytes, sha256 %.12s)", s.Path, len(s.Data), s.Digest())
	case Read:
		return "read " + s.Path
	case Exec, Checkpoint:
	}
	text := s.Text
	if first, _, more := strings.Cut(text, "\n"); more {
		text = first + " …"
	}
	return string(s.Kind) + " " + text
}

// Script is a parsed file.
type Script struct {
	File  string
	Steps []Step
}

// Load reads and parses a script with the files that it writes. Every problem is reported at once,
// each as FILE:LINE: what is wrong.
func Load(file string) (*Script, error) {
	text, err := readBounded(file)
	if err != nil {
		return nil, fmt.Errorf("reading script: %w", err)
	}
	return Parse(file, text, func(name string) ([]byte, error) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(file), name)
		}
		return readBounded(name)
	})
}

func readBounded(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, fmt.Errorf("%s is a folder", file)
	}
	if info.Size() > MaxFile {
		return nil, fmt.Errorf("%s has %d bytes; at most %d are read", file, info.Size(), MaxFile)
	}
	return os.ReadFile(file)
}

// Parse parses a script; open reads the files that its write steps name.
func Parse(file string, text []byte, open func(name string) ([]byte, error)) (*Script, error) {
	if !utf8.Valid(text) {
		return nil, fmt.Errorf("%s: not a text file (invalid UTF-8)", file)
	}
	p := &parser{file: file, open: open, lines: strings.Split(string(text), "\n")}
	for p.next < len(p.lines) {
		p.step()
	}
	if len(p.steps) == 0 && len(p.errs) == 0 {
		return nil, fmt.Errorf("%s: no steps (expected lines such as `exec echo hello`)", file)
	}
	if err := errors.Join(p.errs...); err != nil {
		return nil, err
	}
	return &Script{File: file, Steps: p.steps}, nil
}

type parser struct {
	file  string
	open  func(string) ([]byte, error)
	lines []string
	next  int // index of the line to read
	steps []Step
	errs  []error
	names map[string]int // checkpoint name to line
}

func (p *parser) failf(line int, format string, args ...any) {
	p.errs = append(p.errs, fmt.Errorf("%s:%d: %w", p.file, line, fmt.Errorf(format, args...)))
}

func (p *parser) step() {
	line := strings.TrimSpace(strings.TrimSuffix(p.lines[p.next], "\r"))
	p.next++
	number := p.next
	if line == "" || strings.HasPrefix(line, "#") {
		return
	}
	word, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	step := Step{Kind: Kind(word), Line: number}
	switch step.Kind {
	case Exec:
		step.Text = rest
		if strings.HasPrefix(rest, "<<") {
			text, ok := p.heredoc(number, rest)
			if !ok {
				return
			}
			step.Text = text
		}
		if strings.TrimSpace(step.Text) == "" {
			p.failf(number, "exec without a command (write `exec echo hello`)")
			return
		}
	case Checkpoint:
		if rest == "" || strings.ContainsAny(rest, " \t") {
			p.failf(number, "checkpoint takes one name (write `checkpoint built`), not %q", rest)
			return
		}
		if first, ok := p.names[rest]; ok {
			p.failf(number, "checkpoint %q was already made on line %d; names must differ within a script", rest, first)
			return
		}
		if p.names == nil {
			p.names = map[string]int{}
		}
		p.names[rest] = number
		step.Text = rest
	case Write:
		if !p.write(&step, rest) {
			return
		}
	case Read:
		step.Path = rest
		if !p.path(number, rest) {
			return
		}
	default:
		p.failf(number, "unknown step %q (one of exec, checkpoint, write, read)", word)
		return
	}
	p.steps = append(p.steps, step)
}

func (p *parser) write(step *Step, rest string) bool {
	if target, source, ok := strings.Cut(rest, "<<"); ok {
		step.Path = strings.TrimSpace(target)
		text, ok := p.heredoc(step.Line, "<<"+source)
		step.Data = []byte(text)
		return ok && p.path(step.Line, step.Path)
	}
	target, source, ok := strings.Cut(rest, "<")
	step.Path, source = strings.TrimSpace(target), strings.TrimSpace(source)
	if !ok || source == "" {
		p.failf(step.Line, "write needs a text or a file (write `write /path <<END` or `write /path < local-file`)")
		return false
	}
	if !p.path(step.Line, step.Path) {
		return false
	}
	data, err := p.open(source)
	if err != nil {
		p.failf(step.Line, "reading %q: %w", source, err)
		return false
	}
	step.Data = data
	return true
}

// heredoc reads the lines up to the terminator that intro (<<WORD) names.
func (p *parser) heredoc(line int, intro string) (string, bool) {
	word := strings.TrimSpace(strings.TrimPrefix(intro, "<<"))
	if word == "" || strings.ContainsAny(word, " \t") {
		p.failf(line, "%q is not a terminator (write <<END)", word)
		return "", false
	}
	var text bytes.Buffer
	for p.next < len(p.lines) {
		raw := strings.TrimSuffix(p.lines[p.next], "\r")
		p.next++
		if raw == word {
			return text.String(), true
		}
		text.WriteString(raw)
		text.WriteByte('\n')
	}
	p.failf(line, "no line %q ends the text", word)
	return "", false
}

func (p *parser) path(line int, name string) bool {
	switch {
	case name == "":
		p.failf(line, "no path (write an absolute path of the sandbox, such as /workspace/data.txt)")
	case !path.IsAbs(name):
		p.failf(line, "%q is not an absolute path of the sandbox (try %q)", name, path.Join("/workspace", name))
	case strings.Contains(name, "$"):
		p.failf(line, "%q: the sandbox would expand the $ in a path", name)
	default:
		return true
	}
	return false
}
