package plugin

import (
	"bytes"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/go-hclog"
)

// maxLine bounds one line of a guest's log, bytes.
const maxLine = 8 << 10

// writeChunk is how much of what a guest writes is taken between two looks at the clock.
const writeChunk = 64 << 10

// guestLog is where the lines of a plugin's guests go, so many a second and no more.
type guestLog struct {
	logger hclog.Logger
	plugin string
	clock  clock
	rate   int // lines a second

	mu      sync.Mutex
	tokens  int           // lines that may still come in this second
	second  time.Duration // when it began
	dropped uint64        // since the last line that was let through
	total   uint64        // dropped ever
}

// guestLevel maps the levels of the ABI, 1 trace to 5 error, which are hclog's own.
func guestLevel(level uint32) hclog.Level {
	return hclog.Level(min(max(level, uint32(hclog.Trace)), uint32(hclog.Error)))
}

// admit takes a token, and returns how many lines were dropped before this one.
func (g *guestLog) admit() (dropped uint64, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now := g.clock.now(); g.second == 0 || now-g.second >= time.Second {
		g.second, g.tokens = now, g.rate
	}
	if g.tokens == 0 {
		g.dropped++
		g.total++
		return 0, false
	}
	g.tokens--
	dropped, g.dropped = g.dropped, 0
	return dropped, true
}

// droppedTotal is how many lines were dropped since the plugin was loaded.
func (g *guestLog) droppedTotal() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.total
}

// line logs what a guest says, as one line.
func (g *guestLog) line(level hclog.Level, text []byte) {
	if level < g.logger.GetLevel() {
		return
	}
	dropped, ok := g.admit()
	if !ok {
		return
	}
	if dropped > 0 {
		g.logger.Warn("the guest logs more than limits.log_lines allows", "plugin", g.plugin, "dropped", dropped)
	}
	g.logger.Log(level, oneLine(text), "plugin", g.plugin)
}

// oneLine cuts a guest's text to size and takes out what would make it more than a line.
func oneLine(text []byte) string {
	cut := len(text) > maxLine
	if cut {
		text = text[:maxLine]
		for i := 0; i < utf8.UTFMax && !utf8.Valid(text[len(text)-min(len(text), utf8.UTFMax):]); i++ {
			text = text[:len(text)-1]
		}
	}
	s := strings.ToValidUTF8(string(bytes.TrimRight(text, "\r\n")), "\uFFFD")
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case unicode.IsControl(r):
			return '\uFFFD'
		default:
			return r
		}
	}, s)
	if cut {
		s += " …"
	}
	return s
}

// stream is standard output or error of an instance: what is written to it is logged by line.
type stream struct {
	inst  *instance
	level hclog.Level
	part  []byte // a line that is not complete
}

// write takes what the guest writes. The clock is looked at for each line and each chunk.
func (s *stream) write(c *callContext, b []byte) {
	for len(b) > 0 {
		c.check()
		line, _, found := bytes.Cut(b[:min(len(b), writeChunk)], []byte{'\n'})
		if room := maxLine + 1 - len(s.part); room > 0 { // one more than fits, so that the cut shows
			s.part = append(s.part, line[:min(len(line), room)]...)
		}
		b = b[len(line):]
		if found {
			s.flush()
			b = b[1:]
		}
	}
}

// flush logs what there is of the last line.
func (s *stream) flush() {
	if len(s.part) > 0 {
		s.inst.plugin.guestLog.line(s.level, s.part)
	}
	s.part = s.part[:0]
}
