package main

import (
	"fmt"
	"sync"
	"time"
)

// copyProgress shows on a terminal how far a copy is, on one line. It counts what is written to it.
type copyProgress struct {
	out  *output
	what string

	mu    sync.Mutex
	bytes int64
	began time.Time
	last  time.Time
	shown bool
}

func (a *app) newProgress(what string) *copyProgress {
	return &copyProgress{out: a.out, what: what, began: time.Now(), last: time.Now()}
}

func (p *copyProgress) Write(b []byte) (int, error) {
	p.mu.Lock()
	p.bytes += int64(len(b))
	bytes := p.bytes
	p.mu.Unlock()
	p.show(bytes, p.what)
	return len(b), nil
}

func (p *copyProgress) show(bytes int64, what string) {
	const often = 200 * time.Millisecond
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.out.terminal || p.out.quiet || p.out.json || time.Since(p.last) < often {
		return
	}
	p.last, p.shown = time.Now(), true
	rate := float64(bytes) / time.Since(p.began).Seconds()
	const width = 78
	_, _ = fmt.Fprintf(p.out.err, "\r%s\x1b[K", oneLine(fmt.Sprintf("%s, %s/s, %s", bytesText(bytes), bytesText(int64(rate)), what), width))
}

// clear takes the line away.
func (p *copyProgress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		_, _ = fmt.Fprint(p.out.err, "\r\x1b[K")
		p.shown = false
	}
}
