package opensandbox_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
)

// readEvents returns what came as "type:text" and how it ended.
func readEvents(src io.Reader, maxLine int) ([]string, error) {
	reader := opensandbox.NewEventReader(src, maxLine)
	var events []string
	for {
		frame, err := reader.Next()
		if err != nil {
			if _, again := reader.Next(); !errors.Is(again, err) {
				return events, errors.New("the error does not stay")
			}
			return events, err
		}
		events = append(events, frame.Type+":"+frame.Text())
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	const done = `{"type":"execution_complete"}`
	for _, test := range []struct {
		name, stream string
		events       []string
		err          error
	}{
		{"bare", "{\"type\":\"stdout\",\"text\":\"a\"}\n\n" + done + "\n\n", []string{"stdout:a", "execution_complete:"}, io.EOF},
		{"data prefix", "data: {\"type\":\"stdout\",\"text\":\"a\"}\n\ndata:" + done + "\n\n", []string{"stdout:a", "execution_complete:"}, io.EOF},
		{"carriage returns", "{\"type\":\"ping\"}\r\n\r\n" + done + "\r\n", []string{"ping:", "execution_complete:"}, io.EOF},
		{"other fields", ": hello\nevent: x\nid: 7\nretry: 1\ndata:\ndata: " + done, []string{"execution_complete:"}, io.EOF},
		{"no last newline", done, []string{"execution_complete:"}, io.EOF},
		{"stops at the end", done + "\n{\"type\":\"ping\"}\n", []string{"execution_complete:"}, io.EOF},
		{"error is an end", `{"type":"error","error":null}`, []string{"error:"}, io.EOF},
		{"nothing", "", nil, opensandbox.ErrStreamLost},
		{"blank", "\n\n\r\n", nil, opensandbox.ErrStreamLost},
		{"no end", "{\"type\":\"init\",\"text\":\"x\"}\n", []string{"init:x"}, opensandbox.ErrStreamLost},
		{"half an end", `{"type":"execution_complete"`, nil, opensandbox.ErrStreamLost},
		{"garbage", "<html>\n" + done, nil, opensandbox.ErrStreamLost},
		{"not an object", "[1]\n" + done, nil, opensandbox.ErrStreamLost},
		{"two on a line", done + done + "\n", nil, opensandbox.ErrStreamLost},
		{"unknown type", `{"type":"weather","text":"rain","eid":4}` + "\n" + done, []string{"weather:rain", "execution_complete:"}, io.EOF},
		{"no type", "{}\n" + done, []string{":", "execution_complete:"}, io.EOF},
		{"type in another case", `{"Type":"stdout","type":"stderr","text":"a"}` + "\n" + done, []string{"stderr:a", "execution_complete:"}, io.EOF},
		{"odd values", `{"type":7,"text":null,"timestamp":"x"}` + "\n" + done, []string{":", "execution_complete:"}, io.EOF},
		{"line separators", "{\"type\":\"stdout\",\"text\":\"a\u0085b\u2028c\"}\n" + done, []string{"stdout:a\u0085b\u2028c", "execution_complete:"}, io.EOF},
		{"bad utf-8", "{\"type\":\"stdout\",\"text\":\"a\xff\"}\n" + done, []string{"stdout:a\ufffd", "execution_complete:"}, io.EOF},
		{"escapes", `{"type":"stdout","text":"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00\ud83d!"}` + "\n" + done, []string{"stdout:\"\\/\b\f\n\r\té😀\ufffd!", "execution_complete:"}, io.EOF},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for name, src := range map[string]io.Reader{
				"at once":       strings.NewReader(test.stream),
				"byte by byte":  iotest.OneByteReader(strings.NewReader(test.stream)),
				"data and EOF":  iotest.DataErrReader(strings.NewReader(test.stream)),
				"halves":        iotest.HalfReader(strings.NewReader(test.stream)),
				"with timeouts": io.MultiReader(strings.NewReader(test.stream)),
			} {
				events, err := readEvents(src, 0)
				if strings.Join(events, "|") != strings.Join(test.events, "|") || !errors.Is(err, test.err) {
					t.Errorf("%s: got %q, %v", name, events, err)
				}
			}
		})
	}
}

func TestBrokenSourceKeepsItsCause(t *testing.T) {
	t.Parallel()
	cause := errors.New("cable pulled")
	_, err := readEvents(io.MultiReader(strings.NewReader("{\"type\":\"ping\"}\n{\"ty"), iotest.ErrReader(cause)), 0)
	if !errors.Is(err, opensandbox.ErrStreamLost) || !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
}

func TestFailureEvents(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]opensandbox.Error{
		`{"code":"RUNTIME_ERROR","message":"busy"}`: {Status: 200, Code: "RUNTIME_ERROR", Message: "busy"},
		`{"error":"Unauthorized"}`:                  {Status: 200, Message: "Unauthorized"},
		`{"code":"X"}`:                              {Status: 200, Code: "X", Message: `the server failed with code "X" and no message`},
	} {
		reader := opensandbox.NewEventReader(strings.NewReader(line), 0)
		frame, err := reader.Next()
		if err != nil || frame.Failure == nil || *frame.Failure != want || string(frame.Raw) != line {
			t.Errorf("%s: got %+v, %v", line, frame, err)
			continue
		}
		if _, err := reader.Next(); !errors.Is(err, frame.Failure) {
			t.Errorf("%s: then %v", line, err)
		}
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]struct {
		code int
		ok   bool
	}{
		`{"type":"error","error":{"ename":"CommandExecError","evalue":"3","traceback":["exit status 3"]}}`: {3, true},
		`{"type":"error","error":{"evalue":"-1","traceback":null}}`:                                        {-1, true},
		`{"type":"error","error":{"evalue":7}}`:                                                            {7, true},
		`{"type":"error","error":{"evalue":"fork/exec /bin/x: argument list too long"}}`:                   {0, false},
		`{"type":"error"}`:           {0, false},
		`{"type":"error","error":3}`: {0, false},
	} {
		frame, err := opensandbox.NewEventReader(strings.NewReader(line), 0).Next()
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if code, ok := frame.Error.ExitCode(); code != want.code || ok != want.ok {
			t.Errorf("%s: got %d, %v", line, code, ok)
		}
	}
}

func TestLineLimits(t *testing.T) {
	t.Parallel()
	line := `{"type":"stdout","text":"` + strings.Repeat("x", 1<<20) + `"}`
	stream := line + "\n\n" + `{"type":"execution_complete","execution_time":36}` + "\n\n"
	events, err := readEvents(strings.NewReader(stream), len(line))
	if !errors.Is(err, io.EOF) || len(events) != 2 || len(events[0]) != len("stdout:")+1<<20 {
		t.Errorf("got %d events, %v", len(events), err)
	}
	for _, src := range []io.Reader{strings.NewReader(stream), iotest.HalfReader(strings.NewReader(stream)), strings.NewReader(line)} {
		events, err = readEvents(src, len(line)-1)
		if !errors.Is(err, opensandbox.ErrLineTooLong) || !errors.Is(err, opensandbox.ErrStreamLost) || len(events) != 0 {
			t.Errorf("got %d events, %v", len(events), err)
		}
	}
}

// A line of 64 MiB comes whole when nobody asks for another limit, also when a third of it takes two bytes as
// JSON.
func TestLongLinesComeWhole(t *testing.T) {
	t.Parallel()
	const size = 64 << 20
	for _, text := range []string{strings.Repeat("x", size), strings.Repeat(`xx"`, size/3)} {
		line := `{"type":"stdout","text":"` + strings.ReplaceAll(text, `"`, `\"`) + `"}` + "\n\n"
		frame, err := opensandbox.NewEventReader(strings.NewReader(line), 0).Next()
		if err != nil || frame.Text() != text {
			t.Errorf("got %v", err)
		}
	}
}

// endless never has a line feed.
type endless struct{ served int }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	e.served += len(p)
	return len(p), nil
}

func TestEndlessLineIsBounded(t *testing.T) {
	t.Parallel()
	src := new(endless)
	if _, err := readEvents(src, 1<<20); !errors.Is(err, opensandbox.ErrLineTooLong) {
		t.Errorf("got %v", err)
	}
	if src.served > 4<<20 {
		t.Errorf("read %d bytes for a limit of %d", src.served, 1<<20)
	}
}

func FuzzEvents(f *testing.F) {
	entries, err := filepath.Glob(filepath.Join("testdata", "captures", "*.raw"))
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range entries {
		raw, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		_, body, _ := bytes.Cut(raw, []byte("\r\n\r\n"))
		f.Add(body) // with its chunk sizes: garbage lines between the events
	}
	f.Add([]byte("data: {\"type\":\"stdout\",\"text\":\"\\ud83d\\ude00\",\"x\":[1,2.5e-3,{\"y\":null}]}\n{\"code\":\"A\",\"message\":\"b\"}"))
	f.Add([]byte("{\"type\":\"error\",\"error\":{\"evalue\":\"3\"}}"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		const maxLine = 1 << 16
		reader := opensandbox.NewEventReader(iotest.HalfReader(bytes.NewReader(stream)), maxLine)
		for {
			frame, err := reader.Next()
			if err != nil {
				var refused *opensandbox.Error
				if !errors.Is(err, io.EOF) && !errors.Is(err, opensandbox.ErrStreamLost) && !errors.As(err, &refused) {
					t.Fatalf("unexpected end %v", err)
				}
				return
			}
			checkFrame(t, frame)
		}
	})
}

// checkFrame compares a frame with what encoding/json makes of it.
func checkFrame(t *testing.T, frame *opensandbox.Frame) {
	t.Helper()
	if !json.Valid(frame.Raw) || !utf8.Valid(frame.Raw) {
		t.Fatalf("not JSON: %q", frame.Raw)
	}
	var fields map[string]any
	decoder := json.NewDecoder(bytes.NewReader(frame.Raw))
	decoder.UseNumber()
	if err := decoder.Decode(&fields); err != nil {
		t.Fatal(err)
	}
	if hasEscapedKey(frame.Raw) {
		return // a key such as "\u0074ype" is another key to us, and no server writes one
	}
	kind, _ := fields["type"].(string)
	text, _ := fields["text"].(string)
	if frame.Type != kind || frame.Text() != text || string(frame.AppendText(nil)) != text {
		t.Fatalf("%q: got type %q, text %q", frame.Raw, frame.Type, frame.Text())
	}
	number, _ := fields["timestamp"].(json.Number)
	if at, err := strconv.ParseInt(number.String(), 10, 64); err == nil && frame.Timestamp != at {
		t.Fatalf("%q: got timestamp %d", frame.Raw, frame.Timestamp)
	}
}

func hasEscapedKey(raw []byte) bool {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return true
	}
	for key := range fields {
		quoted := append(append([]byte{'"'}, key...), '"')
		if !bytes.Contains(raw, quoted) {
			return true
		}
	}
	return false
}

// One line of output: what the hot path costs.
func BenchmarkEvent(b *testing.B) {
	line := []byte(`{"type":"stdout","text":"the quick brown fox jumps over the lazy dog","timestamp":1795958569992}` + "\n\n")
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	reader := opensandbox.NewEventReader(&repeat{line: line}, 0)
	var text []byte
	for b.Loop() {
		frame, err := reader.Next()
		if err != nil {
			b.Fatal(err)
		}
		text = frame.AppendText(text[:0])
	}
}

// repeat serves a line for ever.
type repeat struct {
	line []byte
	at   int
}

func (r *repeat) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		c := copy(p[n:], r.line[r.at:])
		n += c
		r.at = (r.at + c) % len(r.line)
	}
	return n, nil
}
