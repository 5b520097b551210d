package opensandbox

import (
	"bytes"
	"errors"
	"testing"
)

func FuzzPTYFrame(f *testing.F) {
	for _, seed := range [][]byte{
		nil,
		{0},
		{1},
		[]byte("\x01bash-5.2# "), []byte("\x02err\n"), []byte("\x03\x00\x00\x00\x00\x00\x00\x00\x04two"),
		[]byte("\x03\xff\xff\xff\xff\xff\xff\xff\xff"), []byte("\x03\x00"), []byte("\x7f"),
		[]byte(`{"type":"connected","session_id":"x","mode":"pty"}` + "\n"), []byte(`{"type":"exit","exit_code":7}`),
		[]byte(`{"type":"exit","exit_code":"7"}`), []byte(`{"type":"error","error":"e","code":"c"}`), []byte(`{"type":"error","error":{}}`), []byte("null"), []byte("[]"),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		event, ok, err := parsePTYBinary(frame)
		if err != nil && (ok || !errors.Is(err, ErrStreamLost)) {
			t.Fatalf("binary: %+v, %v", event, err)
		}
		if ok && (event.Offset < 0 || !bytes.HasSuffix(frame, event.Data)) {
			t.Fatalf("binary: %+v", event)
		}
		event, ok, err = parsePTYText(frame)
		if err != nil && (ok || !errors.Is(err, ErrStreamLost)) {
			t.Fatalf("text: %+v, %v", event, err)
		}
		if ok && event.Kind == PTYProblem && (event.Problem == nil || event.Problem.Message == "") {
			t.Fatalf("text: %+v", event)
		}
		var back []byte
		err = encodeStdin(frame, func(piece []byte) error {
			if len(piece) < 2 || piece[0] != ptyStdin {
				t.Fatalf("input: %q", piece)
			}
			back = append(back, piece[1:]...)
			return nil
		})
		if err != nil || !bytes.Equal(back, frame) {
			t.Fatalf("input %q became %q, %v", frame, back, err)
		}
	})
}
