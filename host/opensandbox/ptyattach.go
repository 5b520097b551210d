package opensandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// PTYAttach says how to connect to a session.
type PTYAttach struct {
	// Start runs what the session is for. Without it, only a session in which something runs is
	// connected to: a server would start anew what has ended.
	Start bool
	// Since is how many bytes of the output are known already; a replay brings the rest, as far as the
	// server keeps it (the last MiB).
	Since int64
	// TakeOver disconnects another client. A connection that was cut may count as one for a while.
	TakeOver bool
	// Pipes runs the process without a terminal, with stdout and stderr apart. It counts with Start.
	Pipes bool
}

// PTY is a connection to a terminal session. Next is for one goroutine, and should be waiting most
// of the time: servers cut whoever doesn't take output for ten seconds. The other methods are for
// any. Whatever happens to the connection, the session goes on.
type PTY struct {
	execd *Execd
	call  call
	id    string
	conn  *websocket.Conn
	ctx   context.Context //nolint:containedctx // the connection's life
	end   context.CancelCauseFunc
	idle  *watchdog
	beat  *time.Ticker
	wg    sync.WaitGroup

	pinging sync.Mutex // orders pings

	mu     sync.Mutex
	offset int64
	pings  int           // that were sent
	pongs  int           // that were answered, in order
	pong   chan struct{} // closed when another one is

	buf bytes.Buffer
	err error // what Next returns from now on
}

// statusTakenOver is the close code of a connection that another client replaced.
const statusTakenOver websocket.StatusCode = 4001

// AttachPTY connects to a session. When ctx ends, so does the connection; the session goes on. While
// somebody else is connected it is ErrConflict, and ErrPTYEnded when nothing runs. After a connection
// was lost, connect again with Since: p.Offset() and TakeOver.
func (e *Execd) AttachPTY(ctx context.Context, id string, how PTYAttach) (*PTY, error) {
	call := call{op: "attach pty", subject: id, to: e.target(), path: ptyPath(id), query: url.Values{}}
	if how.Since < 0 {
		return nil, fmt.Errorf("%s: %w: offset %d", call.name(), ErrInvalid, how.Since)
	}
	if !how.Start {
		status, err := e.PTYStatus(ctx, id)
		if err != nil {
			return nil, err
		}
		if !status.Running {
			return nil, fmt.Errorf("%s: %w after %d bytes of output; its exit code was told to whoever was connected", call.name(), ErrPTYEnded, status.OutputOffset)
		}
	}
	if how.Pipes {
		call.query.Set("pty", "0")
	}
	if how.TakeOver {
		call.query.Set("takeover", "1")
	}
	call.query.Set("since", strconv.FormatInt(how.Since, 10))
	conn, err := e.c.openWebSocket(ctx, call, &websocket.DialOptions{})
	if err != nil {
		return nil, err
	}
	const replay, most = 1 << 20, 4
	conn.SetReadLimit(most * replay)
	p := &PTY{execd: e, call: call, id: id, conn: conn, offset: how.Since, pong: make(chan struct{})}
	p.ctx, p.end = context.WithCancelCause(ctx)
	p.idle = newWatchdog(e.c.opts.IdleTimeout, p.end, "no sign of life").unless(func() bool { return e.c.standsStill(p.ctx, e.sandboxID) })
	p.keepAlive()
	return p, nil
}

// keepAlive asks for signs of life, so that a connection that was cut without a word is noticed.
func (p *PTY) keepAlive() {
	const perTimeout = 3
	p.beat = time.NewTicker(max(p.execd.c.opts.IdleTimeout/perTimeout, time.Millisecond))
	p.wg.Go(func() {
		for {
			select {
			case <-p.ctx.Done():
				return
			case <-p.beat.C:
				if _, err := p.ping(); err != nil {
					return // whoever reads learns why
				}
			}
		}
	})
}

// ping asks for a sign of life, and returns which one it is.
func (p *PTY) ping() (int, error) {
	p.pinging.Lock()
	defer p.pinging.Unlock()
	if err := p.send(websocket.MessageText, []byte(`{"type":"ping"}`)); err != nil {
		return 0, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pings++
	return p.pings, nil
}

// Settle waits until the server has taken what was written: it reads one frame after the other, and
// disconnecting may overtake those that are on their way. Somebody must wait for Next meanwhile.
func (p *PTY) Settle(ctx context.Context) error {
	last, err := p.ping()
	for err == nil {
		p.mu.Lock()
		settled, another := p.pongs >= last, p.pong
		p.mu.Unlock()
		if settled {
			return nil
		}
		select {
		case <-another:
		case <-p.ctx.Done():
			err = context.Cause(p.ctx)
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	return fmt.Errorf("settle pty %q: %w", p.id, err)
}

func (p *PTY) answered() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pongs++
	close(p.pong)
	p.pong = make(chan struct{})
}

// Offset returns how much of the session's output has been seen, as the Since of another connection.
func (p *PTY) Offset() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.offset
}

// Next returns the next event. After [PTYExit] it returns io.EOF. A connection that ends before is
// ErrStreamLost, with ErrTakenOver when another client took it; how the process ends is then unknown.
func (p *PTY) Next() (PTYEvent, error) {
	for p.err == nil {
		event, ok, err := p.read()
		if err != nil {
			p.err = err
			break
		}
		if !ok {
			continue
		}
		if p.account(&event); event.Kind == PTYExit {
			p.err = io.EOF
			event.Lost = p.missed()
		}
		return event, nil
	}
	return PTYEvent{}, p.err
}

func (p *PTY) read() (PTYEvent, bool, error) {
	p.idle.start()
	defer p.idle.stop()
	kind, message, err := p.conn.Reader(p.ctx)
	if err == nil {
		p.buf.Reset()
		_, err = p.buf.ReadFrom(message)
	}
	if err != nil {
		return PTYEvent{}, false, p.lost(err)
	}
	parse := parsePTYBinary
	if kind == websocket.MessageText {
		parse = parsePTYText
	}
	event, ok, err := parse(p.buf.Bytes())
	if err != nil {
		return PTYEvent{}, false, p.call.in(err)
	}
	if event.Kind == ptyPong {
		p.answered()
	}
	if event.Problem != nil {
		event.Problem.Op, event.Problem.Subject = "use pty", p.id
	}
	return event, ok, nil
}

// account keeps count of the output.
func (p *PTY) account(event *PTYEvent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch event.Kind { //nolint:exhaustive // the others carry no output
	case PTYReplay:
		if event.Lost = max(event.Offset-p.offset, 0); event.Offset < p.offset {
			// More than was asked for: it is known already.
			known := min(p.offset-event.Offset, int64(len(event.Data)))
			event.Data, event.Offset = event.Data[known:], event.Offset+known
		}
		p.offset = max(p.offset, event.Offset+int64(len(event.Data)))
	case PTYOutput, PTYStderr:
		event.Offset = p.offset
		p.offset += int64(len(event.Data))
	}
}

// missed asks how much was printed that never came: what a process prints in its last moment may
// only be in the replay, which nobody can get any more without running it again.
func (p *PTY) missed() int64 {
	ctx, cancel := context.WithTimeout(p.ctx, startGrace)
	defer cancel()
	status, err := p.execd.PTYStatus(ctx, p.id)
	if err != nil {
		return 0 // the session may be gone with its process; then nobody knows
	}
	return max(status.OutputOffset-p.Offset(), 0)
}

func (p *PTY) lost(err error) error {
	if cause := context.Cause(p.ctx); cause != nil {
		err = cause
	}
	switch websocket.CloseStatus(err) { //nolint:exhaustive // the others say no more than their names
	case statusTakenOver:
		err = ErrTakenOver
	case websocket.StatusPolicyViolation:
		err = fmt.Errorf("the proxy was refused by execd (another client may be connected, or the session is gone): %w", err)
	}
	return fmt.Errorf("%s: %w: %w", p.call.name(), ErrStreamLost, err)
}

// Write sends input to the process. What was sent when a connection breaks may have arrived or not;
// it is not sent again. Ctrl-C is the byte 3.
func (p *PTY) Write(input []byte) (int, error) {
	sent := 0
	err := encodeStdin(input, func(frame []byte) error {
		if err := p.send(websocket.MessageBinary, frame); err != nil {
			return err
		}
		sent += len(frame) - 1
		return nil
	})
	if err != nil {
		return sent, fmt.Errorf("write to pty %q: %w", p.id, err)
	}
	return sent, nil
}

// Resize tells the process the terminal's size.
func (p *PTY) Resize(columns, rows int) error {
	const most = 1<<16 - 1
	if columns < 1 || rows < 1 || columns > most || rows > most {
		return fmt.Errorf("resize pty %q: %w: %d columns and %d rows", p.id, ErrInvalid, columns, rows)
	}
	return p.control("resize", struct {
		Type    string `json:"type"`
		Columns int    `json:"cols"`
		Rows    int    `json:"rows"`
	}{"resize", columns, rows})
}

// Signal sends one of the Signal constants to the session's shell, and not to what runs in its
// foreground; write the byte 3 for that.
func (p *PTY) Signal(name string) error {
	if !isPTYSignal(name) {
		return fmt.Errorf("signal pty %q: %w: servers take SIGINT, SIGTERM, SIGKILL, SIGQUIT and SIGHUP, not %q", p.id, ErrInvalid, name)
	}
	return p.control("signal", struct {
		Type   string `json:"type"`
		Signal string `json:"signal"`
	}{"signal", name})
}

func (p *PTY) control(op string, frame any) error {
	encoded, err := json.Marshal(frame)
	if err == nil {
		err = p.send(websocket.MessageText, encoded)
	}
	if err != nil {
		return fmt.Errorf("%s pty %q: %w", op, p.id, err)
	}
	return nil
}

// send writes a frame. The library closes the connection when the context of a write ends.
func (p *PTY) send(kind websocket.MessageType, frame []byte) error {
	ctx, cancel := context.WithTimeoutCause(p.ctx, p.execd.c.opts.Timeout, ErrTimeout)
	defer cancel()
	if err := p.conn.Write(ctx, kind, frame); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return fmt.Errorf("%w: %w", ErrStreamLost, err)
	}
	return nil
}

// Close disconnects. The session and its process go on: see [Execd.DeletePTY]. It is idempotent and
// returns nil.
func (p *PTY) Close() error {
	p.beat.Stop()
	p.idle.stop()
	p.end(errStreamClosed)
	_ = p.conn.CloseNow() // it is closed already when the process has ended
	p.wg.Wait()
	return nil
}
