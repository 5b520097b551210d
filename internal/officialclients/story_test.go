package officialclients_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/alineo-labs/alineo-host/host/engine"
)

const apiKey = "k3y-of-the-tests"

// leftOut leaves the test out, and says so where nobody misses it.
func leftOut(t *testing.T, why string) {
	t.Helper()
	fmt.Fprintf(os.Stderr, "\n*** LEFT OUT: %s: %s\n\n", t.Name(), why)
	t.Skip("LEFT OUT: " + why)
}

// installed is where scripts/official-clients.sh put a client, if it is what the lock file says.
func installed(t *testing.T, client, lock string) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", "bin", "official-clients", client))
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join("testdata", client, lock))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, lock)); err != nil || !bytes.Equal(got, want) {
		leftOut(t, "the official client that "+lock+" names is not installed: run scripts/official-clients.sh")
	}
	return dir
}

// serve serves an engine on loopback and returns its host:port.
func serve(t *testing.T, hostPath string) string {
	t.Helper()
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		leftOut(t, "the stories change users and owners in sandboxes, which needs Linux and root")
	}
	e, err := engine.Open(t.Context(), engine.Options{
		DataDir: t.TempDir(), APIKey: apiKey, HostPaths: []string{hostPath},
		Logger: hclog.New(&hclog.LoggerOptions{Output: t.Output(), Level: hclog.Info, DisableTime: true}),
	})
	if err != nil && (strings.Contains(err.Error(), "is not possible here") || strings.Contains(err.Error(), "sandboxes would have only")) {
		leftOut(t, "this machine refuses the isolation that it needs: "+err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	address, served := make(chan string, 1), make(chan error, 1)
	go func() {
		served <- e.Listen(ctx, engine.ListenOptions{
			Address: "127.0.0.1:0", Ready: func(api, _ net.Addr) { address <- api.String() },
		})
	}()
	t.Cleanup(func() {
		deleteAll(t, e)
		cancel()
		if err := <-served; err != nil {
			t.Errorf("serving: %v", err)
		}
		closing, done := context.WithTimeout(context.Background(), 30*time.Second)
		defer done()
		if err := e.Close(closing); err != nil {
			t.Errorf("closing the engine: %v", err)
		}
	})
	select {
	case a := <-address:
		return a
	case err := <-served:
		served <- nil
		t.Fatalf("listening: %v", err)
	}
	return ""
}

// deleteAll deletes what a story left that did not come to its end: sandboxes outlive engines.
func deleteAll(t *testing.T, e *engine.Engine) {
	t.Helper()
	client := &http.Client{Transport: e.Transport(), Timeout: time.Minute}
	do := func(method, path string) []byte {
		req, err := http.NewRequestWithContext(context.Background(), method, e.BaseURL()+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("OPEN-SANDBOX-API-KEY", apiKey)
		resp, err := client.Do(req)
		if err != nil {
			t.Errorf("cleaning up: %v", err)
			return nil
		}
		defer func() { _ = resp.Body.Close() }()
		out, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Errorf("cleaning up: %v", err)
		}
		return out
	}
	var list struct{ Items []struct{ ID string } }
	if err := json.Unmarshal(do(http.MethodGet, "/sandboxes?pageSize=200"), &list); err != nil {
		t.Errorf("cleaning up: %v", err)
	}
	for _, box := range list.Items {
		do(http.MethodDelete, "/sandboxes/"+box.ID)
	}
}

// tell runs a story to its end. Each of its steps is a test.
func tell(t *testing.T, story *exec.Cmd) {
	t.Helper()
	hostPath := t.TempDir()
	if err := os.WriteFile(filepath.Join(hostPath, "note"), []byte("from the host\n"), 0o644); err != nil { //nolint:gosec // the sandbox reads it
		t.Fatal(err)
	}
	given, err := json.Marshal(map[string]string{"domain": serve(t, hostPath), "apiKey": apiKey, "hostPath": hostPath})
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	story.Stdin, story.Stderr = bytes.NewReader(given), &stderr
	out, err := story.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := story.Start(); err != nil {
		t.Fatal(err)
	}
	steps := 0
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var step struct{ Step, Error, LeftOut string }
		if err := json.Unmarshal(lines.Bytes(), &step); err != nil {
			t.Errorf("the story printed %q", lines.Text())
			continue
		}
		steps++
		t.Run(step.Step, func(t *testing.T) {
			if step.LeftOut != "" {
				leftOut(t, step.LeftOut)
			}
			if step.Error != "" {
				t.Error(step.Error)
			}
		})
	}
	if err := errors.Join(lines.Err(), story.Wait()); err != nil {
		t.Errorf("the story ended with %v\n%s", err, stderr.String())
	}
	const least = 20
	if steps < least {
		t.Errorf("the story has %d steps, and had at least %d\n%s", steps, least, stderr.String())
	}
}

// TestJavaScript runs @alibaba-group/opensandbox.
func TestJavaScript(t *testing.T) {
	t.Parallel()
	dir := installed(t, "js", "package-lock.json")
	version, err := exec.CommandContext(t.Context(), "node", "--version").Output()
	if major, _, _ := strings.Cut(strings.TrimPrefix(string(version), "v"), "."); err != nil || number(major) < 20 {
		leftOut(t, fmt.Sprintf("the client needs node 20 or newer, and this is %q (%v)", version, err))
	}
	// The client is looked for beside the program.
	at := t.TempDir()
	story, err := os.ReadFile(filepath.Join("testdata", "js", "story.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(at, "story.mjs"), story, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "node_modules"), filepath.Join(at, "node_modules")); err != nil {
		t.Fatal(err)
	}
	tell(t, exec.CommandContext(t.Context(), "node", filepath.Join(at, "story.mjs")))
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

// TestPython runs opensandbox and opensandbox-code-interpreter.
func TestPython(t *testing.T) {
	t.Parallel()
	dir := installed(t, "python", "requirements.txt")
	if out, err := exec.CommandContext(t.Context(), "python3", "-c", "import sys; sys.exit(sys.version_info < (3, 10))").CombinedOutput(); err != nil {
		leftOut(t, fmt.Sprintf("the client needs python3, 3.10 or newer: %v %s", err, out))
	}
	story := exec.CommandContext(t.Context(), "python3", "-I", "-c",
		"import sys, runpy; sys.path.insert(0, sys.argv[1]); runpy.run_path(sys.argv[2], run_name='__main__')",
		dir, filepath.Join("testdata", "python", "story.py"))
	tell(t, story)
}
