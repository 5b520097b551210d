package opensandbox

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

const (
	headerLogCursor = "EXECD-COMMANDS-TAIL-CURSOR"

	// A cursor is a number today. Whatever it becomes, it goes into a URL.
	maxCursor = 256
)

// logPart is one answer's worth of a job's output.
type logPart struct {
	src    partOfBody
	body   *liveBody
	cancel context.CancelCauseFunc
	at     string // the cursor that it begins at
	got    int64  // bytes of the answer
	next   string // the cursor behind this answer, empty when the server gave none
}

// openLog asks for the output from a position on.
func (e *Execd) openLog(ctx context.Context, id string, at Position) (*logPart, error) {
	call := call{
		op: "read command log", subject: id, to: e.target(), method: http.MethodGet, idempotent: true, single: true,
		path: "/command/" + url.PathEscape(id) + "/logs", query: url.Values{"cursor": {"0"}},
	}
	if at.Cursor != "" {
		call.query.Set("cursor", at.Cursor)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	body, err := e.c.openStream(ctx, cancel, call, nil)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	part := &logPart{body: body, cancel: cancel, at: at.Cursor, src: partOfBody{src: body, left: -1, skip: at.Skip}, got: at.Skip}
	if part.next, err = parseCursor(body.header); err != nil {
		part.close()
		return nil, fmt.Errorf("%s: %w", call.name(), err)
	}
	return part, nil
}

func (p *logPart) Read(b []byte) (int, error) {
	n, err := p.src.Read(b)
	p.got += int64(n)
	if err == io.EOF { //nolint:errorlint // a body's own io.EOF is bare
		switch {
		case p.src.skip > 0:
			err = fmt.Errorf("the log has become shorter by %d bytes: %w", p.src.skip, io.ErrUnexpectedEOF)
		case p.cutShort():
			err = fmt.Errorf("%d bytes of the log came: %w", p.got, io.ErrUnexpectedEOF)
		}
	}
	return n, err
}

// cutShort recognises an answer that lost its end on the way without an error: not every answer says
// how long it is. Cursors that count something, count nothing smaller than bytes.
func (p *logPart) cutShort() bool {
	next, err := strconv.ParseInt(p.next, 10, 64)
	if err != nil {
		return false
	}
	var at int64
	if p.at != "" {
		if at, err = strconv.ParseInt(p.at, 10, 64); err != nil {
			return false
		}
	}
	return p.got < next-at
}

func (p *logPart) close() {
	p.cancel(errStreamClosed)
	_ = p.body.Close() // all of it was read, or none of the rest is wanted
}

// parseCursor reads where the next answer begins. Without a cursor the same place is asked again,
// and what was read of it is passed over.
func parseCursor(header http.Header) (string, error) {
	cursor := strings.TrimSpace(header.Get(headerLogCursor))
	if len(cursor) > maxCursor {
		return "", fmt.Errorf("the server gave a log cursor of %d bytes", len(cursor))
	}
	if strings.ContainsFunc(cursor, func(r rune) bool { return r < ' ' || r > '~' }) {
		return "", fmt.Errorf("the server gave a log cursor that is no text: %q", cursor)
	}
	return cursor, nil
}
