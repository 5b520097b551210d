package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
)

// Whatever a sandbox sends as an event becomes a payload that is its own fields and our seq.
func FuzzOutputPayload(f *testing.F) {
	for _, frame := range []string{
		`{}`, `{ }`, `{"type":"stdout","text":"a"}`, `{"seq":1}`, `{"a":1,"seq":2,"b":{"seq":3}}`, `{"text":"\"seq\""}`, `{"text":"seq"}`, `{"text":1,"seq":2,"text":"b"}`, `{"text":"a","text":{"seq":[]}}`,
		"{\t\"seq\" : null , \"x\":[1,2 ,{}]}", `{"<&>":"<&>","n":1.50e3,"big":123456789012345678901234567890}`,
	} {
		f.Add([]byte(frame))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		frame, err := opensandbox.NewEventReader(bytes.NewReader(line), 1<<16).Next()
		if err != nil {
			return
		}
		from, to, plain := frame.TextAt()
		if text := string(frame.Raw[from:to]); plain && text != frame.Text() {
			t.Fatalf("%s has the text %q, not %q", frame.Raw, frame.Text(), text)
		}
		payload, whole := outputPayload(5, frame.Raw, from, to)
		if whole && to > from && !bytes.HasSuffix(payload, frame.Raw[from:]) {
			t.Fatalf("%s ends otherwise in %s", frame.Raw, payload)
		}
		want, got := decode(t, frame.Raw), decode(t, payload)
		want["seq"] = json.Number("5")
		if !maps.EqualFunc(want, got, reflect.DeepEqual) {
			t.Fatalf("%s became %s", frame.Raw, payload)
		}
		if !bytes.HasPrefix(payload, []byte(`{"seq":5`)) {
			t.Fatalf("%s became %s", frame.Raw, payload)
		}
	})
}

func decode(t *testing.T, raw []byte) map[string]any {
	t.Helper()
	var fields map[string]any
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(&fields); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return fields
}

// sandbox.created may have been written by anyone.
func FuzzReadCreated(f *testing.F) {
	for _, payload := range []string{
		"", "null", "[]", `{"sandboxId":"x","resources":{"cpu":"1","memory":"2Gi"},"runId":"r","resourceId":"a","teamId":"b"}`,
		`{"resources":7,"runId":[],"networkPolicy":{},"credentialProxy":true}`, `{"networkPolicy":null,"credentialProxy":false}`,
	} {
		f.Add([]byte(payload))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		created, err := readCreated(payload)
		if err != nil {
			return // it has a policy that can't be read
		}
		var fields map[string]any
		if json.Unmarshal(payload, &fields) != nil {
			return
		}
		if run, ok := fields["runId"].(string); ok && created.identity.RunID != run {
			t.Fatalf("%s: run id %q", payload, created.identity.RunID)
		}
		if (fields["networkPolicy"] != nil) != (created.networkPolicy != nil) {
			t.Fatalf("%s: network policy %v", payload, created.networkPolicy)
		}
	})
}

func TestPayloads(t *testing.T) {
	t.Parallel()
	started, err := startedPayload("cmd", "a<b>\n\"é\"", 3, nil, "1:none:abc")
	if err != nil {
		t.Fatal(err)
	}
	terminal, err := startedPayload("cmd", "sh", 4, struct {
		Interactive bool `json:"interactive"`
	}{true}, "d")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ got, want string }{
		{string(terminal), `{"cmd":"sh","seq":4,"interactive":true,"digest":"d"}`},
		{string(started), `{"cmd":"a<b>\n\"é\"","seq":3,"digest":"1:none:abc"}`},
		{string(completedPayload(0, 1, "")), `{"exitCode":0,"seq":1}`},
		{string(completedPayload(-1, 2, reasonCanceled)), `{"exitCode":-1,"seq":2,"reason":"canceled"}`},
		{string(framePayload(1, []byte(`{"type":"ping"}`))), `{"seq":1,"type":"ping"}`},
	} {
		if test.got != test.want {
			t.Errorf("got %s, want %s", test.got, test.want)
		}
	}
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"ls":          `exec '/bin/sh' -c 'ls'`,
		"echo 'a' \\": `exec '/bin/sh' -c 'echo '\''a'\'' \'`,
		"-x":          `exec '/bin/sh' -c -- '-x'`,
	} {
		if got := commandLine("/bin/sh", command); got != want {
			t.Errorf("%q: got %q", command, got)
		}
	}
	if got := commandLine("/opt/my shell", "ls"); got != `exec '/opt/my shell' -c 'ls'` {
		t.Errorf("got %q", got)
	}
}

func TestSpool(t *testing.T) {
	t.Parallel()
	s := newSpool(5)
	out := s.reader()
	s.write([]byte("abc"))
	s.write([]byte("déf")) // the é fits no more
	s.write([]byte("ghi"))
	if text, cut := s.text(); text != "abcd" || !cut {
		t.Errorf("kept %q, %v", text, cut)
	}
	var got []byte
	buf := make([]byte, 3)
	for len(got) < len("abcdéfghi") {
		n, err := out.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, buf[:n]...)
	}
	if string(got) != "abcdéfghi" {
		t.Errorf("read %q", got)
	}
	broken := errors.New("broken")
	s.write([]byte("j"))
	s.end(broken)
	s.end(nil) // only the first counts
	rest, err := io.ReadAll(out)
	if string(rest) != "j" || !errors.Is(err, broken) {
		t.Errorf("read %q, %v", rest, err)
	}
}

// The writer waits for its reader, within the window, and not any more when it is in a hurry.
func TestSpoolWindow(t *testing.T) {
	t.Parallel()
	s := newSpool(0)
	out := s.reader()
	s.write(bytes.Repeat([]byte("a"), 2*window)) // one piece is always taken
	wrote := make(chan struct{})
	go func() {
		s.write([]byte("b"))
		close(wrote)
	}()
	select {
	case <-wrote:
		t.Fatal("the writer ran ahead")
	default:
	}
	buf := make([]byte, 2*window)
	if _, err := io.ReadFull(out, buf); err != nil {
		t.Fatal(err)
	}
	<-wrote
	s.write(bytes.Repeat([]byte("c"), window-1))
	var wait sync.WaitGroup
	wait.Go(func() { s.write([]byte("lost")) })
	s.rush()
	wait.Wait()
	s.end(nil)
	rest, err := io.ReadAll(out)
	if !errors.Is(err, ErrTruncated) || string(rest) != "b"+strings.Repeat("c", window-1) {
		t.Errorf("read %d bytes, %v", len(rest), err)
	}
}

// A line's end is text like any other: the result may end before it, and its reader gets it.
func TestSpoolLine(t *testing.T) {
	t.Parallel()
	s := newSpool(5)
	reader := s.reader()
	s.add([]byte("ab"), true)
	s.add([]byte("cd"), true) // whose end fits no more
	s.add([]byte("e"), true)
	s.end(nil)
	if text, cut := s.text(); text != "ab\ncd" || !cut {
		t.Errorf("the result has %q, cut %v", text, cut)
	}
	if all, err := io.ReadAll(reader); err != nil || string(all) != "ab\ncd\ne\n" {
		t.Errorf("the reader got %q, error %v", all, err)
	}
}
