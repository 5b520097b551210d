package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/ledger"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/store"
)

// Input to a terminal is recorded under this type.
const typeStdin = "stdin"

// endOfInput is what a terminal takes for the end of its input: Ctrl-D.
const endOfInput = "\x04"

var errTerminalEnded = fmt.Errorf("the terminal's program has ended: %w", ErrClosed)

// Write types input, once the ledger has it, and after what is typed again in a resumed sandbox.
// After the program's end it is ErrClosed, except for a replayed one, which takes everything. What is
// written when a connection breaks may have arrived or not; it is not written again.
func (t *Terminal) Write(input []byte) (int, error) {
	select {
	case <-t.ready:
	case <-t.done:
	}
	if t.isReplayed() {
		return len(input), nil
	}
	if err := t.h.ready(); err != nil {
		return 0, t.fail(err)
	}
	if err := t.send(context.Background(), input); err != nil {
		return 0, t.fail(err)
	}
	return len(input), nil
}

func (t *Terminal) isReplayed() bool {
	select {
	case <-t.done:
		return t.result != nil && t.result.Replayed
	default:
		return false
	}
}

// send records input and types it.
func (t *Terminal) send(ctx context.Context, input []byte) error {
	t.writing.Lock()
	defer t.writing.Unlock()
	text := t.input.add(input)
	if text == "" {
		return nil // the rest of a character is still to come
	}
	if t.connection() == nil {
		return errTerminalEnded
	}
	if err := t.recordTyped(ctx, text); err != nil {
		return err
	}
	pty := t.connection()
	if pty == nil {
		return errTerminalEnded
	}
	t.unsettled = true
	_, err := pty.Write([]byte(text))
	return err
}

// settleWithin bounds waiting for the sandbox to take what was typed.
const settleWithin = 2 * time.Second

// settle lets what was typed arrive before the connection ends.
func (t *Terminal) settle(ctx context.Context) {
	t.writing.Lock()
	pty, typed := t.connection(), t.unsettled
	t.writing.Unlock()
	if pty == nil || !typed {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, settleWithin)
	defer cancel()
	if err := pty.Settle(ctx); err != nil {
		t.h.log.Debug("what was typed last may not have arrived", "seq", t.seq, "err", err)
	}
}

// recordTyped records input. What may be the beginning of a credential's value is recorded when it is
// known whether it is: with what is typed next, or at the program's end.
func (t *Terminal) recordTyped(ctx context.Context, text string) error {
	w := t.h.c.opts.Ledger
	if !w.Redacts() || t.typed == nil && !w.Redactor().Active() {
		t.sitting.typed(text)
		return t.recordInput(ctx, text)
	}
	if t.typed == nil {
		t.typed = credential.NewFlow[struct{}](w.Redactor())
		t.typed.Precede(t.sitting.end)
		t.typed.Rejoin(t.sitting.begun)
	}
	var clean []byte
	t.typed.Push(struct{}{}, []byte(text), func(_ struct{}, text []byte, _ bool) { clean = append(clean, text...) })
	return t.recordInput(ctx, string(clean))
}

// flushTyped records what is left of the input. When more may be typed by who comes next, it returns how
// much of a value that may begin with.
func (t *Terminal) flushTyped(ctx context.Context, more bool) (begun int, err error) {
	t.writing.Lock()
	defer t.writing.Unlock()
	if t.typed == nil {
		return t.sitting.begun, nil
	}
	var clean []byte
	take := func(_ struct{}, text []byte, _ bool) { clean = append(clean, text...) }
	if more {
		begun = t.typed.Leave(take)
	} else {
		t.typed.Flush(take)
	}
	return begun, t.recordInput(ctx, string(clean))
}

// sitting is what a terminal was left with: the last that is recorded of what was typed, and how many
// bytes of a value come behind that.
type sitting struct {
	end   []byte
	begun int
}

// typed takes what is typed next and recorded.
func (s *sitting) typed(text string) {
	s.end, s.begun = append(s.end, text...), 0
	if over := len(s.end) - remembered; over > 0 {
		s.end = append(s.end[:0], s.end[over:]...)
	}
}

func (t *Terminal) recordInput(ctx context.Context, text string) error {
	if text == "" {
		return nil
	}
	payload, err := textPayload(t.seq, typeStdin, text)
	if err != nil {
		return err
	}
	return t.h.append(ctx, ledger.Event{Step: t.seq, Name: store.EventExecOutput, Payload: payload})
}

func (t *Terminal) connection() *opensandbox.PTY {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.pty
}

// Resize tells the program the terminal's size. It is not recorded.
func (t *Terminal) Resize(columns, rows int) error {
	if columns < 1 || rows < 1 {
		return t.fail(fmt.Errorf("%w: a terminal of %d columns and %d rows", ErrInvalid, columns, rows))
	}
	t.mu.Lock()
	t.size = [2]int{columns, rows}
	t.mu.Unlock()
	if err := t.tellSize(); err != nil {
		return t.fail(err)
	}
	return nil
}

// tellSize tells the connection, when there is one, the size that was asked for last, if any was.
func (t *Terminal) tellSize() error {
	t.sizing.Lock()
	defer t.sizing.Unlock()
	t.mu.Lock()
	pty, size := t.pty, t.size
	t.mu.Unlock()
	if pty == nil || size == [2]int{} {
		return nil
	}
	return pty.Resize(size[0], size[1])
}

// Signal sends a signal, one of the Signal constants of host/opensandbox, to the program itself; what
// runs in a shell's foreground gets Ctrl-C by writing the byte 3.
func (t *Terminal) Signal(name string) error {
	select {
	case <-t.ready:
	case <-t.done:
	}
	if t.isReplayed() {
		return nil
	}
	pty := t.connection()
	if pty == nil {
		return t.fail(errTerminalEnded)
	}
	if err := pty.Signal(name); err != nil {
		return t.fail(err)
	}
	return nil
}

// Close ends the program, if it still runs, and waits until that is recorded. Wait then returns how
// it ended. It is idempotent.
func (t *Terminal) Close() error {
	select {
	case <-t.done:
		return nil
	default:
	}
	t.mu.Lock()
	id := t.id
	t.mu.Unlock()
	if id == "" {
		t.cancel(errHandleClosed) // it has not begun
	} else {
		t.remove(context.Background(), id)
	}
	<-t.done
	if t.result != nil {
		return nil
	}
	return t.err
}

// Attach carries what is read from in to the terminal, and what the program prints to out, until it
// ends; it returns what Wait does. The end of in is typed as Ctrl-D. A read of in that is under way at
// the end is not waited for. in may be nil.
func (t *Terminal) Attach(in io.Reader, out io.Writer) (*Result, error) {
	typed := make(chan error, 1)
	if in != nil {
		go func() {
			_, err := io.Copy(t, in)
			if err == nil {
				_, err = t.Write([]byte(endOfInput))
			}
			typed <- err
			if err != nil && !errors.Is(err, ErrClosed) && !errors.Is(err, ErrPaused) {
				_ = t.Close() // else the program may print nothing, and whoever attached wait for ever
			}
		}()
	}
	if err := t.Pipe(out); err != nil {
		select {
		case <-t.done: // the error is the exec's own
		default:
			_ = t.Close() // what matters is why nothing can be written
			return nil, t.fail(err)
		}
	}
	result, err := t.Wait()
	select {
	case inputErr := <-typed:
		if inputErr != nil && !errors.Is(inputErr, ErrClosed) { // the first that went wrong
			err = t.fail(fmt.Errorf("typing: %w", inputErr))
		}
	default:
	}
	return result, err
}

// wholeRunes cuts bytes into texts without cutting characters. Bytes that are none become U+FFFD.
type wholeRunes struct {
	part []byte // the beginning of a character
}

func (w *wholeRunes) add(data []byte) string {
	all := append(w.part, data...) //nolint:gocritic // part is replaced below
	end := len(all)
	for back := 1; back < utf8.UTFMax && back <= len(all); back++ {
		if at := len(all) - back; utf8.RuneStart(all[at]) {
			if !utf8.FullRune(all[at:]) {
				end = at
			}
			break
		}
	}
	text := strings.ToValidUTF8(string(all[:end]), "\ufffd")
	w.part = append([]byte(nil), all[end:]...)
	return text
}

// rest returns what never became a character.
func (w *wholeRunes) rest() string {
	part := w.part
	w.part = nil
	return strings.ToValidUTF8(string(part), "\ufffd")
}
