package opensandbox_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
)

func TestEndpointIsAskedOnce(t *testing.T) {
	t.Parallel()
	execd := serve(t, status(200))
	var asked atomic.Int32
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		time.Sleep(20 * time.Millisecond) // so that the others arrive meanwhile
		_, _ = fmt.Fprintf(w, `{"endpoint":"%s/some/path/"}`, strings.TrimPrefix(execd.URL, "http://"))
	})
	client := newClient(t, opensandbox.Options{BaseURL: server.URL})
	var wait sync.WaitGroup
	for range 10 {
		wait.Go(func() {
			endpoint, err := client.Endpoint(context.Background(), "box", 8080)
			if err != nil || endpoint.URL != execd.URL+"/some/path" {
				t.Errorf("got %+v, %v", endpoint, err)
			}
		})
	}
	wait.Wait()
	if asked.Load() != 1 {
		t.Errorf("asked %d times", asked.Load())
	}
	client.ForgetEndpoints("box")
	if _, err := client.Endpoint(t.Context(), "box", 8080); err != nil || asked.Load() != 2 {
		t.Errorf("asked %d times, %v", asked.Load(), err)
	}
}

// A sandbox that moved is found again: the failed connection makes the client ask anew.
func TestEndpointIsDroppedWhenNobodyAnswers(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := listener.Addr().String()
	_ = listener.Close()
	raw := readCapture(t, "hi")
	there := rawServer(t, func(*http.Request) []byte { return raw })
	var asked atomic.Int32
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		address := there
		if asked.Add(1) == 1 {
			address = gone
		}
		_, _ = fmt.Fprintf(w, `{"endpoint":%q}`, address)
	})
	client := newClient(t, opensandbox.Options{BaseURL: server.URL})
	got, err := run(t.Context(), client.Execd("box"))
	if err != nil || got != captures["hi"] || asked.Load() != 2 {
		t.Errorf("got %+v, %v; asked %d times", got, err, asked.Load())
	}
}

func TestBadEndpoints(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{}`, `{"endpoint":""}`, `{"endpoint":"/path"}`, `{"endpoint":"http://a b/"}`, `[]`} {
		server := serve(t, reply(body))
		if err := newClient(t, opensandbox.Options{BaseURL: server.URL}).Execd("box").Ping(t.Context()); err == nil {
			t.Errorf("%s: no error", body)
		}
	}
}

// Where a proxy says that nobody is behind an address, the sandbox may have moved as well.
func TestEndpointIsDroppedWhenProxyFindsNobody(t *testing.T) {
	t.Parallel()
	raw := readCapture(t, "hi")
	old := serve(t, status(http.StatusBadGateway)).Listener.Addr().String()
	there := rawServer(t, func(*http.Request) []byte { return raw })
	var asked atomic.Int32
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		address := there
		if asked.Add(1) == 1 {
			address = old
		}
		_, _ = fmt.Fprintf(w, `{"endpoint":%q}`, address)
	})
	execd := newClient(t, opensandbox.Options{BaseURL: server.URL}).Execd("box")
	if _, err := run(t.Context(), execd); err == nil {
		t.Error("a command that may have been sent was sent again")
	}
	if got, err := run(t.Context(), execd); err != nil || got != captures["hi"] || asked.Load() != 2 {
		t.Errorf("got %+v, %v; asked %d times", got, err, asked.Load())
	}
}
