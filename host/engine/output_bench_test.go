package engine_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"
)

// BenchmarkLines compares output through a sandbox's event stream (engine)
// with a bare loop that makes JSON of the same lines and sends it over
// loopback (bare). Bytes are those of the command's output.
func BenchmarkLines(b *testing.B) {
	const size = 64 << 20
	for _, c := range []struct{ name, command string }{
		{"yes", "yes | head -c " + strconv.Itoa(size)},
		{"lines of 50", "yes 'a line of ordinary length, as programs print them' | head -c " + strconv.Itoa(size)},
		{"lines of 4000", "yes $(head -c 4000 /dev/zero | tr '\\0' x) | head -c " + strconv.Itoa(size)},
	} {
		b.Run("engine/"+c.name, func(b *testing.B) {
			box := requireNamespaces(b).create(nil)
			b.SetBytes(size)
			for b.Loop() {
				readLines(b, box.e.Transport(), box.e.BaseURL()+box.execd("/command"), c.command)
			}
		})
		b.Run("bare/"+c.name, func(b *testing.B) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			srv := &http.Server{Handler: http.HandlerFunc(bareLines)} //nolint:gosec // for one client of ours
			go func() { _ = srv.Serve(l) }()
			b.Cleanup(func() { _ = srv.Close() })
			tr := &http.Transport{}
			b.Cleanup(tr.CloseIdleConnections)
			b.SetBytes(size)
			for b.Loop() {
				readLines(b, tr, "http://"+l.Addr().String(), c.command)
			}
		})
	}
}

// readLines posts a command and reads its stream to the end.
func readLines(b *testing.B, tr http.RoundTripper, url, command string) {
	b.Helper()
	body, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		b.Fatal(err)
	}
	req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	tail := make([]byte, 0, 1024)
	buf := make([]byte, 256<<10)
	for {
		n, err := resp.Body.Read(buf)
		tail = append(tail, buf[max(0, n-512):n]...)
		tail = tail[max(0, len(tail)-512):]
		if err == io.EOF {
			break
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	if resp.StatusCode != http.StatusOK || !bytes.Contains(tail, []byte("execution_complete")) {
		b.Fatalf("%d %s", resp.StatusCode, tail)
	}
}

// bareLines is the loop that one would write by hand.
func bareLines(w http.ResponseWriter, r *http.Request) {
	var q struct{ Command string }
	if json.NewDecoder(r.Body).Decode(&q) != nil {
		return
	}
	cmd := exec.CommandContext(r.Context(), "bash", "-c", q.Command) //nolint:gosec // the benchmark's own
	out, err := cmd.StdoutPipe()
	if err != nil || cmd.Start() != nil {
		return
	}
	enc := json.NewEncoder(w)
	sc := bufio.NewScanner(out)
	for sc.Scan() {
		_ = enc.Encode(struct {
			Type      string `json:"type"`
			Text      string `json:"text"`
			Timestamp int64  `json:"timestamp"`
		}{"stdout", sc.Text(), time.Now().UnixMilli()})
	}
	_ = cmd.Wait()
	_, _ = io.WriteString(w, `{"type":"execution_complete"}`)
}

// TestLongLine checks that a line of 60 MB is one event, and that neither the
// sandbox's init nor this process keeps it in memory.
func TestLongLine(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short")
	}
	e := requireNamespaces(t)
	box := e.create(nil)
	events, stop := box.stream(t.Context(), "/command", map[string]any{"command": "echo ready; head -c 60000000 /dev/zero | tr '\\0' x; echo; echo end; until [ -e go ]; do sleep 0.01; done"}, `"text":"ready`)
	defer stop()
	var got int
	rd := bufio.NewReaderSize(events, 64<<10)
	for {
		line, err := rd.ReadSlice('\n')
		got += len(line)
		if bytes.Contains(line, []byte(`"text":"end"`)) {
			break
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			t.Fatal(err)
		}
	}
	if got < 60000000 || got > 60001000 {
		t.Errorf("%d bytes of events", got)
	}
	b, err := os.ReadFile("/proc/" + strconv.Itoa(initOf(t, box)) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.SplitSeq(b, []byte("\n")) {
		if v, ok := bytes.CutPrefix(line, []byte("VmHWM:")); ok {
			kb, err := strconv.Atoi(string(bytes.Fields(v)[0]))
			if err != nil || kb > 120<<10 {
				t.Errorf("the init has used %s", v)
			}
			t.Logf("the init has used at most %d kB", kb)
		}
	}
	box.must("touch go")
}
