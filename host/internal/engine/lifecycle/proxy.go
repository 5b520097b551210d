package lifecycle

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
)

// execdPort is the port under which a sandbox's execd is asked for.
const execdPort = 44772

func parsePort(v string) (int, error) {
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > 65535 {
		return 0, problem(http.StatusBadRequest, codeInvalidPort, "Invalid port %q: a port is a number between 1 and 65535.", v)
	}
	return n, nil
}

// endpoint says where a port of a sandbox is reached: through us.
func (s *Server) endpoint(w http.ResponseWriter, r *http.Request, args []string) error {
	id, port := args[0], args[1]
	if _, err := strconv.Atoi(port); err != nil {
		return details{{
			Type: "int_parsing", Loc: []any{"path", "port"}, Input: port,
			Msg: "Input should be a valid integer, unable to parse string as an integer",
		}}
	}
	proxied, expires, err := endpointQuery(r.URL.Query())
	if err != nil {
		return err
	}
	if expires {
		if proxied {
			return problem(http.StatusBadRequest, codeInvalidParameter, "use_server_proxy and expires can't be used together.")
		}
		return problem(http.StatusBadRequest, codeNotSupported, "Signed endpoints are not supported by this runtime.")
	}
	n, err := parsePort(port)
	if err != nil {
		return err
	}
	box, err := s.m.sandbox(id)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, struct {
		Endpoint string            `json:"endpoint"`
		Headers  map[string]string `json:"headers,omitempty"`
	}{r.Host + "/sandboxes/" + id + "/proxy/" + port, box.endpointHeaders(n)})
	return nil
}

// endpointQuery reads what an endpoint is asked for with.
func endpointQuery(q url.Values) (proxied, expires bool, err error) {
	var faults details
	loc := func(name string) []any { return []any{"query", name} }
	if v := q.Get("use_server_proxy"); q.Has("use_server_proxy") {
		switch strings.ToLower(v) {
		case "1", "true", "t", "yes", "y", "on":
			proxied = true
		case "0", "false", "f", "no", "n", "off":
		default:
			faults = append(faults, detail{Type: "bool_parsing", Loc: loc("use_server_proxy"), Input: v, Msg: "Input should be a valid boolean, unable to interpret input"})
		}
	}
	if v := q.Get("expires"); q.Has("expires") {
		expires = true
		if _, err := strconv.ParseUint(v, 10, 64); err != nil {
			faults = append(faults, detail{Type: "int_parsing", Loc: loc("expires"), Input: v, Msg: "Input should be a valid integer, unable to parse string as an integer"})
		}
	}
	if faults != nil {
		return false, false, faults
	}
	return proxied, expires, nil
}

// proxy relays a request into a sandbox: to its execd, or through that to any
// other port.
func (s *Server) proxy(w http.ResponseWriter, r *http.Request, args []string) error {
	id, port := args[0], args[1]
	n, err := parsePort(port)
	if err != nil {
		return err
	}
	box, err := s.m.sandbox(id)
	if err != nil {
		return err
	}
	if r.Header.Get("Upgrade") != "" && !isWebSocket(r) {
		return problem(http.StatusBadRequest, codeUnknown, "Websocket upgrade is not supported yet")
	}
	if n == egressPort && !vaultTransport(r) {
		http.Error(w, "credential vault writes require TLS or loopback transport", http.StatusUpgradeRequired)
		return nil
	}
	path, rawPath := afterPort(r.URL.Path), afterPort(r.URL.EscapedPath())
	transport := box.transport
	if n == egressPort && box.record().EgressToken != "" {
		transport = egressTransport(box.dir) // the shim answers, also while the sandbox stands still
	} else if err := box.awaitResumed(r.Context(), s.m); err != nil {
		return err
	}
	s.m.renewOnAccess(box)
	if transport == box.transport {
		path, rawPath = pathInside(n, path), pathInside(n, rawPath)
	}
	relay := &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL = &url.URL{Scheme: "http", Host: "execd", Path: path, RawPath: rawPath, RawQuery: r.URL.RawQuery}
			p.Out.Host = "127.0.0.1:" + port
			withoutKeys(p.Out.Header)
			forwarded(p.Out.Header, r)
		},
		Transport:     transport,
		FlushInterval: -1, // every chunk at once
		ErrorLog:      s.m.quiet,
		ModifyResponse: func(resp *http.Response) error {
			resp.Header.Del("X-Request-ID") // ours stands already
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			if r.Context().Err() == nil {
				s.m.log.Debug("relaying into a sandbox", "op", "proxy", "sandbox", id, "err", err)
			}
			writeError(w, problem(http.StatusBadGateway, codeUnknown, "Could not connect to the backend sandbox %s on port %s.", id, port))
		},
	}
	// execd may answer before the whole request has been passed on; without
	// this the server would take the rest of its body away from us then.
	if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
		return fmt.Errorf("relaying into sandbox %s: %w", id, err)
	}
	relay.ServeHTTP(w, r)
	return nil
}

// afterPort is what follows …/proxy/PORT in a path: "/" at least.
func afterPort(path string) string {
	_, rest, _ := strings.Cut(path, "/proxy/")
	_, rest, _ = strings.Cut(rest, "/")
	return "/" + rest
}

// pathInside is the path under which execd knows one of a port: its own, or what it relays.
func pathInside(port int, path string) string {
	if port == execdPort {
		return path
	}
	return "/proxy/" + strconv.Itoa(port) + path
}

// withoutKeys removes what is meant for the engine and for nothing inside.
func withoutKeys(h http.Header) {
	for _, name := range []string{"Authorization", "Cookie", keyHeader} {
		h.Del(name)
	}
}

func isWebSocket(r *http.Request) bool {
	return strings.EqualFold(r.Header.Get("Upgrade"), "websocket") && r.Method == http.MethodGet
}

// forwarded says where a request came from, unless it says so itself.
func forwarded(h http.Header, r *http.Request) {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr // a unix socket's
	}
	proto := "http"
	if r.TLS != nil {
		proto = "https"
	}
	for name, value := range map[string]string{"X-Forwarded-Proto": proto, "X-Forwarded-Host": r.Host, "X-Forwarded-For": host} {
		if given := r.Header.Get(name); given != "" {
			h.Set(name, given)
		} else if value != "" && value != "@" {
			h.Set(name, value)
		}
	}
}

func exitMessage(code int) string { return "Container exited with code " + strconv.Itoa(code) + "." }
