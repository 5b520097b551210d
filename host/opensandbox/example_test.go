package opensandbox_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
)

// A command's output is read to its end, whatever happens to the connection.
func ExampleExecd_Start() {
	server := exampleServer()
	defer server.Close()
	client, err := opensandbox.New(opensandbox.Options{BaseURL: server.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	job, err := client.Execd("box").Start(context.Background(), opensandbox.RunRequest{Command: "make all"})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := io.Copy(os.Stdout, job); err != nil {
		// Another process may go on: client.Execd("box").Follow(ctx, job.ID(), job.Position())
		fmt.Println(err)
		return
	}
	if code := job.Status().ExitCode; code != nil {
		fmt.Println("exit code", *code)
	}
	// Output:
	// all is made
	// exit code 0
}

// exampleServer is a control server and an execd with one command.
func exampleServer() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.Contains(r.URL.Path, "/endpoints/"):
			_, _ = fmt.Fprintf(w, `{"endpoint":%q}`, r.Host)
		case r.Method == http.MethodPost:
			_, _ = io.WriteString(w, `{"type":"init","text":"c1"}`+"\n\n"+`{"type":"execution_complete"}`+"\n\n")
		case strings.Contains(r.URL.Path, "/status/"):
			_, _ = io.WriteString(w, `{"id":"c1","running":false,"exit_code":0}`)
		default:
			w.Header().Set("EXECD-COMMANDS-TAIL-CURSOR", "12")
			_, _ = io.WriteString(w, "all is made\n")
		}
	}))
}
