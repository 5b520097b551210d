package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alineo-labs/alineo-host/host/credential"
	"github.com/alineo-labs/alineo-host/host/opensandbox"
	"github.com/alineo-labs/alineo-host/host/sandbox"
)

// testTimeout bounds the request of a test.
const testTimeout = 40 * time.Second

// testAnswer is what a test has to tell.
type testAnswer struct {
	URL      string `json:"url"`
	Injected string `json:"injected"`           // with the value left out; empty: nothing was
	Withheld string `json:"withheld,omitempty"` // why nothing was
	Status   int    `json:"status"`
	Echoed   bool   `json:"echoed"` // the answer had the value, which was taken out of it
}

// requestScript asks for an address with whatever the sandbox has, and prints the status on a line of its
// own and then the answer.
func requestScript(address string) string {
	return `u=` + quote(address) + `
if command -v curl >/dev/null 2>&1; then
  curl -sS -i --max-time 30 "$u"
elif command -v python3 >/dev/null 2>&1; then
  python3 - "$u" <<'END'
import sys, urllib.error, urllib.request
try:
    r = urllib.request.urlopen(sys.argv[1], timeout=30)
except urllib.error.HTTPError as e:
    r = e
print("HTTP/1.1", r.status)
print(r.headers)
print(r.read(65536).decode(errors="replace"))
END
elif command -v wget >/dev/null 2>&1; then
  wget -S -T 30 -O - "$u" 2>&1
else
  echo "the sandbox has none of curl, python3 and wget to make a request with" >&2
  exit 127
fi`
}

// answerOf reads what the script printed.
func answerOf(text string) testAnswer {
	var answer testAnswer
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) > 1 && strings.HasPrefix(words[0], "HTTP/") {
			if status, err := strconv.Atoi(words[1]); err == nil {
				answer.Status = status // of several, as after 100 Continue, the last
			}
		}
	}
	answer.Echoed = strings.Contains(text, credential.Redacted) || strings.Contains(text, "[REDACTED]") || strings.Contains(text, "***")
	return answer
}

// outside is why GET of an address is none of the requests of a binding, empty when it is one.
func outside(b credential.Binding, address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "it is no URL"
	}
	usual := map[string]int{"https": 443, "http": 80}
	schemes, ports := b.Schemes, slices.Clip(b.Ports)
	if len(schemes) == 0 {
		schemes = []string{"https"}
	}
	if len(ports) == 0 {
		for _, scheme := range schemes {
			ports = append(ports, usual[scheme])
		}
	}
	port, err := strconv.Atoi(cmp.Or(u.Port(), strconv.Itoa(usual[u.Scheme])))
	path := cmp.Or(u.EscapedPath(), "/")
	switch {
	case !slices.Contains(schemes, u.Scheme):
		return "another scheme"
	case err != nil || !slices.Contains(ports, port):
		return "another port"
	case !slices.ContainsFunc(b.Hosts, func(pattern string) bool { return isHost(pattern, u.Hostname()) }):
		return "another host"
	case len(b.Paths) > 0 && !slices.ContainsFunc(b.Paths, func(pattern string) bool { return isPath(pattern, path) }):
		return "another path"
	case len(b.Methods) > 0 && !slices.Contains(b.Methods, http.MethodGet):
		return "another method"
	case b.Injection.Type == credential.TypeSubstitution && !strings.Contains(address, b.Injection.Placeholder):
		return fmt.Sprintf("it does not have %q in it", b.Injection.Placeholder)
	}
	return ""
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

func isHost(pattern, name string) bool {
	pattern, name = strings.ToLower(pattern), strings.ToLower(strings.TrimSuffix(name, "."))
	if domain, ok := strings.CutPrefix(pattern, "*"); ok {
		return strings.HasSuffix(name, domain) && name != domain
	}
	return name == pattern
}

func isPath(pattern, path string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(path, prefix)
	}
	return path == pattern
}

// trail is what a sandbox's server tells of its requests, a line each; other servers than the embedded
// engine tell nothing of them.
type trail []string

func trailOf(ctx context.Context, sb *sandbox.Handle) trail {
	found, err := sb.DiagnosticEvents(ctx, opensandbox.DiagnosticsQuery{Limit: 200})
	if err != nil {
		return nil // a server needs not have it
	}
	return strings.Split(found.Content, "\n")
}

// withheld is why a request to a host went without a credential, as far as what has come since tells.
func (t trail) withheld(now trail, host, name string) string {
	why := ""
	for _, line := range now {
		text, ok := strings.CutPrefix(line, "Egress:")
		if !ok || slices.Contains(t, line) || !strings.Contains(text, host) {
			continue
		}
		_, text, _ = strings.Cut(strings.TrimSpace(text), " ") // when
		kind, text, _ := strings.Cut(text, " ")
		_, reason, _ := strings.Cut(text, ": ")
		switch {
		case kind == "injected" && strings.HasPrefix(reason, "binding "+strconv.Quote(name)):
			return ""
		case kind == "injected" || kind == "withheld" || kind == "refused":
			why = reason
		}
	}
	return why
}

func (a *app) testCredential(ctx context.Context, sb *changed, id, name string, at []string) error {
	list, err := sb.look.Credentials().ListBindings(ctx)
	if err != nil {
		return a.credentialHint(err, id)
	}
	var found *sandbox.CredentialStatus
	for i := range list {
		if list[i].Name == name {
			found = &list[i]
		}
	}
	switch {
	case found == nil:
		return a.unbound(name, id)
	case !found.Live:
		return fmt.Errorf("credential %q is recorded, but the broker has not bound it: set it again", name)
	}
	to := address(found.Binding)
	if len(at) > 0 {
		to = at[0]
	}
	if why := outside(found.Binding, to); why != "" {
		return fmt.Errorf("testing credential %q: GET %s is none of the requests that have it (%s): %s", name, to, bindingText(found.Binding), why)
	}
	before := trailOf(ctx, sb.look)
	result, err := sb.TryCredential(ctx, name, to, requestScript(to), testTimeout)
	if err != nil {
		return err
	}
	answer := answerOf(result.Stdout)
	if answer.Status == 0 {
		said := strings.TrimSpace(result.Stderr + "\n" + result.Stdout)
		return fmt.Errorf("testing credential %q: no answer from %s: %s", name, to, orDash(said))
	}
	answer.URL, answer.Injected = to, injectionText(found.Binding.Injection)
	if why := before.withheld(trailOf(ctx, sb.look), hostOf(to), name); why != "" {
		answer.Injected, answer.Withheld = "", why
	}
	if a.out.json {
		err = a.out.data(answer)
	} else {
		err = a.out.printf("GET %s\n  injected  %s\n  answered  %d\n", to, cmp.Or(answer.Injected, "nothing: "+answer.Withheld), answer.Status)
		if err == nil && answer.Echoed {
			err = a.out.printf("  echoed    the server sent the value back; the sandbox saw %s\n", masked)
		}
	}
	switch {
	case err != nil:
	case answer.Injected == "":
		return &exitError{code: exitFailed, err: fmt.Errorf("the request went without credential %q: %s", name, answer.Withheld)}
	case answer.Status >= 400:
		return &exitError{code: exitFailed, err: fmt.Errorf("%s answered %d", to, answer.Status)}
	}
	return err
}
