package engine_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
)

func TestWirePorts(t *testing.T) {
	t.Parallel()
	client, execd, id := wire(t, opensandbox.CreateRequest{})
	upload(t, execd, "/tmp/www/hello.txt", "hello from inside")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	server, err := execd.Run(ctx, opensandbox.RunRequest{Command: "exec python3 -m http.server 3000 --bind 127.0.0.1 --directory /tmp/www"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { cancel(); _ = server.Close() }()
	user := http.Client{Transport: client.PortTransport(id, 3000), Timeout: time.Minute}
	var body string
	for end := time.Now().Add(30 * time.Second); body == "" && time.Now().Before(end); {
		body, err = portGet(t, &user, "http://app/hello.txt?x=1")
	}
	if body != "hello from inside" {
		t.Errorf("got %q, %v", body, err)
	}
	_, err = client.DialPort(ctx, id, 3000)
	wantErr(t, "raw connection", err, opensandbox.ErrUnsupported)
}

func portGet(t *testing.T, user *http.Client, url string) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", err
	}
	resp, err := user.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s", resp.Status, raw)
	}
	return string(raw), err
}

func TestWireEgress(t *testing.T) {
	t.Parallel()
	client, _, id := wire(t, opensandbox.CreateRequest{NetworkPolicy: &opensandbox.NetworkPolicy{
		DefaultAction: "deny", Egress: []opensandbox.NetworkRule{{Action: "allow", Target: "example.org"}},
	}})
	ctx := t.Context()
	egress := client.Egress(id)
	targets := func() string {
		t.Helper()
		status, err := egress.Policy(ctx)
		if err != nil || status.Policy == nil {
			t.Fatalf("got %+v, %v", status, err)
		}
		var all []string
		for _, rule := range status.Policy.Egress {
			all = append(all, rule.Action+" "+rule.Target)
		}
		return strings.Join(all, ", ")
	}
	if got := targets(); got != "allow example.org" {
		t.Errorf("got %s", got)
	}
	if _, err := egress.AddRules(ctx, opensandbox.NetworkRule{Action: "deny", Target: "*.example.com"}); err != nil {
		t.Error(err)
	}
	if got := targets(); got != "deny *.example.com, allow example.org" {
		t.Errorf("got %s", got)
	}
	if status, err := egress.RemoveRules(ctx, "Example.org"); err != nil || status.Reason != "" {
		t.Errorf("got %+v, %v", status, err)
	}
	if status, err := egress.RemoveRules(ctx, "nope.com"); err != nil || status.Reason == "" {
		t.Errorf("got %+v, %v", status, err)
	}
	if _, err := egress.SetPolicy(ctx, opensandbox.NetworkPolicy{DefaultAction: "allow"}); err != nil {
		t.Error(err)
	}
	if status, err := egress.Policy(ctx); err != nil || status.Mode != "allow_all" {
		t.Errorf("got %+v, %v", status, err)
	}
}

func TestWireCode(t *testing.T) {
	t.Parallel()
	_, execd, _ := wire(t, opensandbox.CreateRequest{})
	ctx := t.Context()
	made, err := execd.CreateCodeContext(ctx, "python", "/tmp")
	if err != nil {
		t.Fatal(err)
	}
	run := func(code string) *said {
		t.Helper()
		stream, err := execd.RunCode(ctx, opensandbox.CodeRequest{Context: opensandbox.CodeContext{ID: made.ID, Language: "python"}, Code: code})
		return hearOut(t, stream, err)
	}
	run("x = 41")
	if got := run("print('out'); x + 1"); got.results.String() != `"42"` || got.stdout.String() == "" || !got.complete {
		t.Errorf("got %q, %q, %v", got.results.String(), got.stdout.String(), got.complete)
	}
	if got := run("1/0"); got.failure == nil || got.failure.Name != "ZeroDivisionError" || got.failure.Value != "division by zero" || !got.complete {
		t.Errorf("got %+v", got.failure)
	}
	contexts, err := execd.CodeContexts(ctx, "python")
	if err != nil || len(contexts) == 0 {
		t.Errorf("got %+v, %v", contexts, err)
	}
	if one, err := execd.CodeContext(ctx, made.ID); err != nil || one.Language != "python" {
		t.Errorf("got %+v, %v", one, err)
	}
	for range 2 {
		if err := execd.DeleteCodeContext(ctx, made.ID); err != nil {
			t.Error(err)
		}
	}
	_, err = execd.CodeContext(ctx, made.ID)
	wantErr(t, "get after delete", err, opensandbox.ErrNotFound)
}
