package opensandbox_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
)

// rawServer answers each connection's first request with what answer returns, byte for byte, and
// hangs up.
func rawServer(t *testing.T, answer func(*http.Request) []byte) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			req, err := http.ReadRequest(bufio.NewReader(conn))
			if err == nil {
				_, _ = conn.Write(answer(req))
			}
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
	return listener.Addr().String()
}

// control is a control server that only knows where execd is.
func control(t *testing.T, execd string) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/endpoints/44772") {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(`{"endpoint":"` + execd + `","headers":{"X-EXECD-ACCESS-TOKEN":"tok"}}`))
	}))
	t.Cleanup(server.Close)
	return server
}

func newClient(t *testing.T, opts opensandbox.Options) *opensandbox.Client {
	t.Helper()
	client, err := opensandbox.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// execdAt returns the execd of a sandbox "box" that is reached at the given address.
func execdAt(t *testing.T, address string, opts opensandbox.Options) *opensandbox.Execd {
	t.Helper()
	opts.BaseURL = control(t, address).URL
	return newClient(t, opts).Execd("box")
}

// decodeCommand reads the command out of a request.
func decodeCommand(t *testing.T, r *http.Request) string {
	t.Helper()
	var body struct {
		Command string `json:"command"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		t.Error(err)
	}
	return body.Command
}

// saveUpload writes an uploaded file where it is to be.
func saveUpload(t *testing.T, w http.ResponseWriter, r *http.Request) {
	t.Helper()
	form, err := r.MultipartReader()
	if err != nil {
		t.Error(err)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	var metadata struct {
		Path string `json:"path"`
		Mode int    `json:"mode"`
	}
	for {
		part, err := form.NextPart()
		if err != nil {
			return
		}
		raw, err := io.ReadAll(part)
		if err != nil {
			t.Error(err)
			return
		}
		if part.FormName() == "metadata" {
			err = json.Unmarshal(raw, &metadata)
		} else {
			err = os.WriteFile(metadata.Path, raw, 0o600)
		}
		if err != nil {
			t.Error(err)
		}
	}
}
