package opensandbox_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alineo-labs/alineo-host/host/opensandbox"
)

// knownBehaviour is something that real servers do and their specification doesn't say, or that
// somebody ran into, and the tests that show what the client makes of it. Where no test is named,
// there is nothing for a client to do, and where says who has to.
type knownBehaviour struct {
	what  string
	tests string // names, separated by spaces
	where string
}

func catalogue() []knownBehaviour {
	return []knownBehaviour{
		// How events travel.
		{what: "events are bare JSON lines, not server-sent events; both are read", tests: "TestEvents TestCaptures"},
		{what: "failures before the first event are statuses, later ones bare objects in a good stream", tests: "TestRefusals TestFailureEvents TestServerFailureInStream"},
		{what: "the last line may have no line feed", tests: "TestEvents"},
		{what: "a ping may follow the terminal event", tests: "TestCaptures TestEvents"},
		{what: "the stream stays open a second after the terminal event, or for ever", tests: "TestStopsAtTerminalEvent TestCodeWithEndlessTail"},
		{what: "a client that waits for the close is a second late with every command", tests: "TestStopsAtTerminalEvent"},
		{what: "a stream without a terminal event is no exit code", tests: "TestCapturesCutAnywhere TestCodeCutAnywhere TestEvents"},
		{what: "only line feeds end a line: U+0085 and U+2028 are text", tests: "TestEvents"},
		{what: "lines of megabytes are one event", tests: "TestLineLimits TestLongLinesComeWhole TestEndlessLineIsBounded"},
		{what: "clients with a fixed line buffer fail at 4 MiB", tests: "TestLineLimits"},
		{what: "execution_time is left out when it is 0", tests: "TestCaptures TestCode"},
		{what: "nothing is compressed, whatever is asked for", where: "the client asks for nothing compressed"},
		{what: "a server that accepts and never says anything", tests: "TestNoFirstByte TestIdleStreamIsLost"},
		{what: "unknown event types, fields and orders", tests: "TestEvents FuzzEvents"},

		// What commands print.
		{what: "a blank line is the text of one line feed", tests: "TestCaptures", where: "host/sandbox joins the lines"},
		{what: "CR, LF and CRLF end a line", tests: "TestCaptures"},
		{what: "whether there was a last newline can't be seen", tests: "TestCaptures"},
		{what: "characters that were written in two halves come whole", tests: "TestCaptures"},
		{what: "bytes that are no UTF-8 come as U+FFFD", tests: "TestCaptures TestEvents"},
		{what: "stdout and stderr of the same tenth of a second come in groups", tests: "TestCaptures"},
		{what: "output lies in world-readable files that are never removed", where: "execd"},

		// How commands end.
		{what: "an exit code is in an error event, and no completion follows", tests: "TestCaptures TestExitCodes"},
		{what: "a signal and a timeout are both -1", tests: "TestCaptures TestExitCodes", where: "host/sandbox tells them apart by its own clock"},
		{what: "128 + signal only where a shell survived to report it", tests: "TestExitCodes", where: "passed on as it comes"},
		{what: "an incomplete stream after a timeout must not read as success", tests: "TestCapturesCutAnywhere"},
		{what: "a finished command without an exit code must not read as success", tests: "TestJob"},
		{what: "hanging up doesn't stop a command", tests: "TestCloseAloneLeavesCommand TestCancelInterruptsCommand"},
		{what: "children that outlive a cancel: the interrupt goes by id", tests: "TestCancelInterruptsCommand TestCancelBeforeFirstEvent TestCloseAfterCancelInterrupts"},
		{what: "an interrupt takes three seconds and more", tests: "TestCancelInterruptsCommand"},
		{what: "an interrupt of what has ended is a 500", tests: "TestCodeContexts TestInterruptOfWhatEnded"},
		{what: "older servers ignore the timeout", where: "host/sandbox has a deadline of its own"},
		{what: "a command of more than 128 KiB can't be passed to a shell", tests: "TestLongCommands TestLongCommandThatIsRefused TestMissingScriptFails"},
		{what: "a POST that is sent again runs twice", tests: "TestCommandIsNeverSentTwice TestRetries"},

		// Background commands.
		{what: "the status is 404 for a moment after the id", tests: "TestJob"},
		{what: "a background command that could not be started is unknown later", tests: "TestStartFailures TestJobIsLost"},
		{what: "the log's cursor counts bytes and cuts characters", tests: "TestJob TestJobSurvivesCuts"},
		{what: "the cursor's header comes canonicalised, or malformed, or not at all", tests: "TestJob TestJobIsLost FuzzLogCursor"},
		{what: "an unknown command's 404 carries the code of an invalid request", tests: "TestJob"},
		{what: "an inventory of commands, where servers have one", where: "newer servers only, and nothing needs it: ids are kept by the caller"},

		// Sessions and code.
		{what: "a session is a new bash for each run", tests: "TestSessions"},
		{what: "a session's timeout is a bare object and no end", tests: "TestSessions"},
		{what: "a session's very long line hangs with pings", tests: "TestIdleStreamIsLost", where: "give sessions a timeout"},
		{what: "a run waits for the shell's children in sessions only", where: "execd"},
		{what: "an interrupted session is gone", tests: "TestCaptures TestSessions"},
		{what: "exceptions come with a completion, before or after it", tests: "TestCode"},
		{what: "results have any JSON under text and MIME types", tests: "TestCode"},
		{what: "execd's environment file is not read for sessions and terminals", where: "execd"},

		// Terminals.
		{what: "a replay comes before connected", tests: "TestPTYRecordings"},
		{what: "connecting after the end runs the command again", tests: "TestPTYThatEndedIsNotStartedAgain TestPTYCommandRunsOnce"},
		{what: "another client takes over with close code 4001", tests: "TestPTYIsLost TestPTYReconnects"},
		{what: "a proxy hides refusals behind close codes 1008 and 1011", tests: "TestPTYIsLost"},
		{what: "a refused terminal answers with two JSON values", tests: "TestPTYCreateWithTwoAnswers"},
		{what: "a fast command's output is only in the replay", tests: "TestPTYRecordings"},
		{what: "a connection is cut, and made again with what was missed", tests: "TestPTYReconnects"},

		// Files.
		{what: "the metadata part of an upload needs a file name", tests: "TestUploadForm"},
		{what: "files are executable unless a mode is sent", tests: "TestUploadForm"},
		{what: "a directory downloads as 2^63-1 bytes", tests: "TestDownloadOfDirectory TestDownloadCutShort"},
		{what: "a malformed range announces a length that doesn't come", tests: "TestDownloadWithLyingLength"},
		{what: "a server that ignores ranges", tests: "TestDownloadRange"},
		{what: "dollar signs in paths are expanded", tests: "TestPathsThatExecdWouldExpand TestFileCallsRefuse"},
		{what: "a search matches base names only", tests: "TestFileCallsRefuse"},
		{what: "modes are decimal digits that spell octal", tests: "TestPerm TestFileCalls FuzzFileInfo"},

		// Metrics.
		{what: "a watch has one line feed between objects", tests: "TestMetrics TestWatchMetricsIsLive"},
		{what: "metrics describe the machine, not the sandbox", tests: "TestMetrics"},

		// Errors and overload.
		{what: "validation errors are 422 with a list", tests: "TestErrorBodies"},
		{what: "execd's 401 has a shape of its own", tests: "TestErrorBodies TestPing"},
		{what: "wrong methods are 404 in plain text", tests: "TestErrorBodies"},
		{what: "codes with and without a namespace: the status counts", tests: "TestErrorBodies"},
		{what: "Retry-After in seconds and as a date", tests: "TestRetryAfterIsHonoured TestRetryAfterDate TestJobWaitsAsAsked"},
		{what: "the sidecar's errors are plain text", tests: "TestEgressErrors"},
		{what: "a vault that needs TLS (426) or its proxy (412)", tests: "TestEgressErrors"},

		// Getting to a sandbox.
		{what: "create is synchronous and takes minutes", tests: "TestCreateIsPatient"},
		{what: "Running is not ready", tests: "TestPing", where: "host/sandbox polls"},
		{what: "a readiness probe must stop at 401 and 403", tests: "TestPing", where: "host/sandbox polls"},
		{what: "a ping's answer has no body", tests: "TestPing"},
		{what: "an expired sandbox is a 404, never Terminated", tests: "TestErrorBodies TestRetries"},
		{what: "nulls are left out, or are there", tests: "TestNullsAreAbsent"},
		{what: "states that the specification doesn't have", tests: "TestNullsAreAbsent TestCreateFromSnapshotAndPool"},
		{what: "state filters mind case for snapshots only", tests: "TestListSnapshots TestListWalksPages"},
		{what: "an endpoint has no scheme, and may have a path", tests: "TestEndpointForms TestBadEndpoints"},
		{what: "an endpoint's host can't be reached from here", tests: "TestEndpointForms TestEndpointQueries"},
		{what: "addresses change with a pause", tests: "TestPauseAndResume TestEndpointIsDroppedWhenNobodyAnswers TestEndpointIsDroppedWhenProxyFindsNobody"},
		{what: "egress and secure-access headers are the client's to send, also through the proxy", tests: "TestEgressPolicy TestEndpointForms TestPortTransport"},
		{what: "the egress token's header has other names elsewhere", tests: "TestEgressPolicy", where: "what the endpoint names is sent"},
		{what: "the server's proxy wants the key on newer servers", tests: "TestKeyStaysAtControlServer TestPortTransport"},
		{what: "the key must not reach a sandbox", tests: "TestKeyStaysAtControlServer TestPortTransport TestPortPathsStayInside"},
		{what: "the proxy drops some headers and methods", tests: "TestPortTransport", where: "documented"},
		{what: "query strings, WebSockets and upgrades through proxies", tests: "TestPortTransport TestPortWebSocket TestPortUpgrade"},
		{what: "credentials are put into streamed uploads too late", where: "the egress sidecar"},
	}
}

// Every entry of the catalogue is shown by a test that exists, or says whose it is.
func TestCatalogue(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	tests := make(map[string]bool)
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil {
				tests[fn.Name.Name] = true
			}
		}
	}
	seen := make(map[string]bool)
	for _, known := range catalogue() {
		if known.what == "" || seen[known.what] || known.tests == "" && known.where == "" {
			t.Errorf("%q: twice, without words, or without anybody who minds it", known.what)
		}
		seen[known.what] = true
		for name := range strings.FieldsSeq(known.tests) {
			if !tests[name] {
				t.Errorf("%s: there is no %s", known.what, name)
			}
		}
	}
}

func TestPing(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		answer http.HandlerFunc
		is     error
	}{
		{"there", status(200), nil},
		{"not yet", status(502), opensandbox.ErrUnavailable},
		{"not known yet", status(404), opensandbox.ErrNotFound},
		{"never", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"error":"Unauthorized: invalid or missing header X-EXECD-ACCESS-TOKEN"}`)
		}, opensandbox.ErrUnauthorized},
		{"never either", status(403), opensandbox.ErrUnauthorized},
	} {
		calls, execd := recordExecd(t, test.answer)
		if err := execd.Ping(t.Context()); !errors.Is(err, test.is) || calls.count() != 1 {
			t.Errorf("%s: %d calls, %v", test.name, calls.count(), err)
		}
	}
}

func TestInterruptOfWhatEnded(t *testing.T) {
	t.Parallel()
	for code, ok := range map[int]bool{200: true, 404: true, 500: true, 400: false, 401: false} {
		_, execd := recordExecd(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = io.WriteString(w, `{"code":"RUNTIME_ERROR","message":"no such session"}`)
		})
		if err := execd.Interrupt(t.Context(), "c"); (err == nil) != ok {
			t.Errorf("%d: %v", code, err)
		}
	}
}

// The limit of short calls is not create's.
func TestCreateIsPatient(t *testing.T) {
	t.Parallel()
	if opensandbox.DefaultLifecycleTimeout < 200*time.Second {
		t.Errorf("create is given up after %s", opensandbox.DefaultLifecycleTimeout)
	}
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(100 * time.Millisecond) // ten times the limit of short calls
		_, _ = io.WriteString(w, `{"id":"box","status":{"state":"Running"}}`)
	})
	client := newClient(t, opensandbox.Options{BaseURL: server.URL, Timeout: 10 * time.Millisecond})
	if _, err := client.CreateSandbox(t.Context(), opensandbox.CreateRequest{SnapshotID: "s"}); err != nil {
		t.Error(err)
	}
}

func TestNullsAreAbsent(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"id":"box","status":{"state":"Hibernating"}}`,
		`{"id":"box","status":{"state":"Hibernating","reason":null,"message":null,"lastTransitionAt":null},"image":null,"snapshotId":null,
			"platform":null,"metadata":null,"entrypoint":null,"expiresAt":null,"createdAt":null,"unheard":{"of":[null]}}`,
	} {
		_, client := record(t, reply(body))
		box, err := client.GetSandbox(t.Context(), "box")
		if err != nil {
			t.Fatal(err)
		}
		if box.Status.State != "Hibernating" || box.Status.Reason != "" || box.Image != nil || box.Platform != nil || box.Metadata != nil ||
			box.ExpiresAt != nil && !box.ExpiresAt.IsZero() || !box.CreatedAt.IsZero() {
			t.Errorf("got %+v", box)
		}
	}
}

// A date is as good as seconds: one in the future is waited for, one in the past is not.
func TestRetryAfterDate(t *testing.T) {
	t.Parallel()
	for ahead, wait := range map[time.Duration]time.Duration{3 * time.Second: time.Second, -time.Hour: 0, time.Hour: time.Hour - time.Minute} {
		_, client := record(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", time.Now().Add(ahead).UTC().Format(http.TimeFormat))
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		// A create is not repeated, so the wish is seen as it came.
		_, err := client.CreateSandbox(t.Context(), opensandbox.CreateRequest{SnapshotID: "s"})
		var refused *opensandbox.Error
		if !errors.As(err, &refused) || refused.RetryAfter < wait || refused.RetryAfter > max(ahead, 0) {
			t.Errorf("%s ahead: %v, %v", ahead, err, refused)
		}
	}
}
