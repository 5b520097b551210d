package capability

import (
	"net/http"
	"net/url"
)

// Web sends a plugin's HTTP requests to where it may send them. *outbound.Client is one. It is safe for
// concurrent use.
type Web interface {
	// Do sends a request and follows redirects as far as they are granted. A *outbound.DeniedError in the
	// error says that something was not.
	Do(req *http.Request) (*http.Response, error)
	// Permits returns nil when a request to u is granted.
	Permits(u *url.URL) error
	// Granted says whether anything is.
	Granted() bool
	Close() error
}
