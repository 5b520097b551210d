package lifecycle

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// Local is for a listener on loopback that asks nobody for a key: it lets programs of this machine through
// to next, and no page that somebody looks at in a browser of this machine. A browser sends such a page's
// requests whether or not it may read the answers, and a page of a sandbox's own server, seen through the
// proxy, has our origin. What that is served it may go on asking for, as long as the address names this machine.
func Local(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		why := ""
		switch site := r.Header.Get("Sec-Fetch-Site"); {
		case open(r.URL.Path):
		case !thisMachine(r.Host):
			why = "The request is for host " + strconv.Quote(r.Host) + ", which is not this machine's loopback."
		case ownServer(r.URL.Path):
		case site != "" && site != "none", site == "" && foreign(r.Header.Get("Origin"), r.Host):
			why = "The request comes from a page in a browser."
		}
		if why == "" {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set(requestIDHeader, requestID(r))
		writeError(w, problem(http.StatusForbidden, codeCrossOrigin, "%s To let it in, set [engine] api_key, and send it as %s.", why, keyHeader))
	})
}

// foreign tells whether an Origin is another than that of a host. Some clients that are no browsers send
// the host's.
func foreign(origin, host string) bool {
	if origin == "" {
		return false
	}
	u, err := url.Parse(origin)
	return err != nil || !strings.EqualFold(u.Host, host)
}

// thisMachine tells whether a Host header names the loopback: another name may have been led here.
func thisMachine(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]")
	}
	a, err := netip.ParseAddr(name)
	return err == nil && a.Unmap().IsLoopback() || strings.EqualFold(strings.TrimSuffix(name, "."), "localhost")
}

var ownServerPath = regexp.MustCompile(`^(?:/v1)?/sandboxes/[^/]+/proxy/(\d+)(?:/|$)`)

// ownServer tells the paths of servers that run in sandboxes, other than ours.
func ownServer(path string) bool {
	m := ownServerPath.FindStringSubmatch(path)
	return m != nil && !strings.Contains(path, "..") && m[1] != strconv.Itoa(execdPort) && m[1] != strconv.Itoa(egressPort) && m[1][0] != '0'
}
