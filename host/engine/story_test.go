package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/alineo-labs/alineo-host/host/engine"
)

func TestFirst(t *testing.T) {
	ctx := context.Background()
	log := hclog.New(&hclog.LoggerOptions{Level: hclog.Debug})
	st := time.Now()
	e, err := engine.Open(ctx, engine.Options{DataDir: t.TempDir(), Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Log("open", time.Since(st), e.Isolation())
	defer e.Close(ctx)
	do := func(method, path string, body any) (int, string) {
		b, _ := json.Marshal(body)
		req, _ := http.NewRequest(method, e.BaseURL()+path, bytes.NewReader(b))
		resp, err := e.Transport().RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		out, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(out)
	}
	for range 5 {
		st = time.Now()
		code, out := do("POST", "/v1/sandboxes", map[string]any{"image": map[string]string{"uri": "host"}, "entrypoint": []string{"tail", "-f", "/dev/null"}, "resourceLimits": map[string]string{"memory": "512Mi"}, "timeout": 60})
		t.Log(code, out, time.Since(st))
		var s struct{ ID string }
		json.Unmarshal([]byte(out), &s)
		for _, c := range []string{"true", "id; ls -la / ; cat /etc/shadow; ls /root /home; ps aux; cat /proc/self/status | grep -i -E 'cap|seccomp|nonew'; mount; ip addr; touch /usr/x /etc/y /workspace/z && echo wrote", "true", "exit 3"} {
			st = time.Now()
			code, out = do("POST", "/sandboxes/"+s.ID+"/proxy/44772/command", map[string]any{"command": c})
			d := time.Since(st)
			if !strings.Contains(c, "id;") || testing.Verbose() {
				t.Log(code, out, d)
			}
		}
		st = time.Now()
		code, out = do("DELETE", "/v1/sandboxes/"+s.ID, nil)
		t.Log(code, out, time.Since(st))
	}
}
