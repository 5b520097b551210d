package engine_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestCredentialAttacks tries from inside a sandbox to get at a credential, or to make it go elsewhere.
// Each is denied the credential, and is told by the diagnostics.
func TestCredentialAttacks(t *testing.T) {
	t.Parallel()
	w := requireWorld(t)
	e := w.engine()
	requireEgress(t, e)
	const api, other, locked = "api.bound.test", "other.bound.test", "locked.bound.test"
	w.name(api, w.ip)
	w.name(other, w.ip)
	w.name(locked, w.ip)
	var got seen
	serve := func(rw http.ResponseWriter, r *http.Request) {
		got.add(r.Header.Get("Authorization") + r.Trailer.Get("Authorization"))
		switch r.URL.Path {
		case "/v1/redirect":
			http.Redirect(rw, r, "https://"+other+"/stolen", http.StatusFound)
			return
		case "/v1/redirect-locked":
			http.Redirect(rw, r, "https://"+locked+"/stolen", http.StatusFound)
			return
		}
		_, _ = fmt.Fprintf(rw, "reached %s%s, auth %q", r.Host, r.RequestURI, r.Header.Get("Authorization"))
	}
	w.serve("443", serve, api, other, locked)
	w.serve("80", serve)
	w.serve("8443", serve, api)
	box := w.locked(e, api, other)
	requirePrograms(t, box.testBox, "curl", "python3")
	box.bind(canary, api, `,"paths":["/v1/*"],"methods":["GET"]`)

	// raw sends bytes by TLS, or in clear to port 80, and prints what comes back.
	raw := func(port, name, bytes string) string {
		return fmt.Sprintf(`python3 - <<'EOF'
import socket, ssl
s = socket.create_connection((%q, %s), timeout=20)
if %s != 80:
    c = ssl.create_default_context(); c.check_hostname = False; c.verify_mode = ssl.CERT_NONE
    s = c.wrap_socket(s, server_hostname=%q)
s.sendall(%q.encode("latin-1")); s.settimeout(20)
try:
    while True:
        b = s.recv(65536)
        if not b: break
        print(b.decode("latin-1"), end="", flush=True)
except OSError as e: print("ended:", e)
EOF`, api, port, port, name, bytes)
	}
	const end = "Host: " + api + "\r\nConnection: close\r\n\r\n"
	for _, a := range []struct {
		name, command string
		recorded      string // by the diagnostics
		reaches       bool   // a server, without the credential
	}{
		{"another host", "curl -sk https://" + other + "/v1/x", "withheld " + other + ":443: the host has no binding", true},
		{"a host that no rule allows", "curl -sk https://" + locked + "/v1/x", "refused " + locked + ": egress policy does not allow it", false},
		{"another port", "curl -sk https://" + api + ":8443/v1/x", "withheld " + api + ":8443: bindings are for ports 80 and 443 only", true},
		{"another scheme", "curl -s http://" + api + "/v1/x", "withheld GET " + api + ":80/v1/x", true},
		{"another path", "curl -s https://" + api + "/v2/x", "withheld GET " + api + ":443/v2/x", true},
		{"a path of another case", "curl -s https://" + api + "/V1/x", "withheld GET " + api + ":443/V1/x", true},
		{"another method", "curl -s -X POST https://" + api + "/v1/x", "withheld POST " + api + ":443/v1/x", true},
		{"the address itself", "curl -sk -H 'Host: " + api + "' https://" + w.ip + "/v1/x; curl -sk --resolve " + api + ":443:192.0.2.7 https://" + api + "/v1/x", "refused 192.0.2.7:443: egress policy does not allow it", false},
		{"another name for the same address", "curl -sk --connect-to " + other + ":443:" + api + ":443 https://" + other + "/v1/x", `refused ` + api + `:443: the server name of TLS is "` + other + `"`, false},
		{"another Host", "curl -s -H 'Host: " + other + "' https://" + api + "/v1/x", `the request is for "` + other + `", the connection is not`, false},
		{"SNI of the host, elsewhere", "curl -sk --connect-to " + api + ":443:" + other + ":443 https://" + api + "/v1/x", "withheld " + other + ":443: the host has no binding", true},
		{"a redirect elsewhere", "curl -skL https://" + api + "/v1/redirect", "withheld " + other + ":443: the host has no binding", true},
		{"a redirect to what is not allowed", "curl -sL https://" + api + "/v1/redirect-locked", "refused " + locked + ": egress policy does not allow it", true},
		{"CONNECT to the vault", "curl -s -p -x http://" + api + ":80 http://127.0.0.1:18080/credential-vault", "refused " + api + ":80: the method is CONNECT", false},
		{"the vault's port", "curl -s http://127.0.0.1:18080/credential-vault; curl -s http://198.18.0.1:18080/credential-vault", "refused 198.18.0.1:18080: egress policy does not allow it", false},
		{"absolute form", "curl -s -x http://" + api + ":80 http://" + other + "/v1/x", "refused " + api + ":80: the target is not a path", false},
		{"two lengths", raw("443", api, "POST /v1/x HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n"+end+"0\r\n\r\nGET /v1/smuggled HTTP/1.1\r\n"+end), "refused " + api + ":443: there are both Content-Length and Transfer-Encoding", false},
		{"folded header", raw("443", api, "GET /v1/x HTTP/1.1\r\nX-A: b\r\n c\r\n"+end), "refused " + api + ":443: a header is folded over lines", false},
		{"bare line feeds", raw("443", api, "GET /v1/x HTTP/1.1\nHost: "+api+"\n\n"), "refused " + api + ":443: a line ends in a bare line feed", false},
		{"trailers", raw("443", api, "POST /v1/x HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTrailer: Authorization\r\n"+end+"0\r\nAuthorization: mine\r\n\r\n"), "refused " + api + ":443: there are trailers", false},
		{"dot segments", "curl -s --path-as-is https://" + api + "/v1/../v2/x", "refused GET " + api + ":443/v1/../v2/x: request path contains ambiguous segments", false},
		{"encoded dot segments", "curl -s https://" + api + "/v1/..%2fv2/x https://" + api + "/v1/%252e%252e/v2", "refused GET " + api + ":443/v1/%252e%252e/v2: request path contains ambiguous segments", false},
		{"no TLS where it is meant", raw("80", api, "\x16\x03\x01\x00\x05hello"), "refused " + api + ":80: a control character is in the head", false},
	} {
		got.take()
		out := box.run(a.command)
		reached := got.take()
		for _, auth := range reached {
			if strings.Contains(auth, canary) && !strings.HasPrefix(a.name, "a redirect") {
				t.Errorf("%s: the server got the credential: %q", a.name, auth)
			}
		}
		if strings.Contains(out.Stdout+out.Stderr, canary) {
			t.Errorf("%s: the sandbox got the credential: %s%s", a.name, out.Stdout, out.Stderr)
		}
		if strings.Contains(out.Stdout, "/stolen, auth \"Bearer") || !a.reaches && a.name != "the address itself" && len(reached) > 0 || a.reaches && len(reached) == 0 {
			t.Errorf("%s: the servers saw %q: %s%s", a.name, reached, out.Stdout, out.Stderr)
		}
		if log := box.attempts(); !strings.Contains(log, a.recorded) {
			t.Errorf("%s is not recorded as %q:\n%s", a.name, a.recorded, log)
		}
	}

	// A header that the process sets itself is replaced.
	box.must("curl -sS -H 'Authorization: Bearer mine' -H 'authorization: Bearer too' https://" + api + "/v1/x")
	if auth := got.take(); len(auth) != 1 || auth[0] != "Bearer "+canary {
		t.Errorf("set by the process: %q", auth)
	}
	// A name whose addresses change to the inside is reached no more.
	for _, inside := range []string{"127.0.0.1", "169.254.169.254", "10.0.0.1", "::1", "::ffff:127.0.0.1"} {
		w.name(api, inside)
		out := box.run("curl -s -m 20 https://" + api + "/v1/x; curl -s -m 20 --resolve " + api + ":443:$(getent hosts " + other + " | cut -d' ' -f1) https://" + api + "/v1/x")
		if auth := got.take(); len(auth) != 0 && auth[0] != "" || strings.Contains(out.Stdout, "reached "+api) {
			t.Errorf("%s: %q %s", inside, auth, out.Stdout)
		}
	}
	if log := box.attempts(); !strings.Contains(log, "refused "+api+": the name leads to addresses that no name opens") {
		t.Errorf("the change of addresses is not recorded:\n%s", log)
	}
}
