package credential

// Types of injections. The first two are the reference's, which reads no others.
const (
	// TypeHeader puts the value into the header that Header names.
	TypeHeader = "header"
	// TypeSubstitution puts the value wherever the request says Placeholder, in the parts In.
	TypeSubstitution = "substitution"
	// TypeBearer puts "Bearer" and the value into Authorization.
	TypeBearer = "bearer"
	// TypeBasic puts "Basic" and the value into Authorization; the value is what BasicSecret makes.
	TypeBasic = "basic"
	// TypeCustomHeaders puts values into several Headers, also those of other credentials.
	TypeCustomHeaders = "customHeaders"
)

// Parts of a request, for TypeSubstitution.
const (
	InPath   = "path"
	InQuery  = "query"
	InHeader = "header"
	InBody   = "body"
)

// Binding says which requests of a sandbox get a credential, and how. What is empty in the first five
// is the default that stands beside it.
type Binding struct {
	// Hosts are names, or *.domain for the names below a domain. At least one; an exact name wins over
	// a wildcard.
	Hosts []string
	// Paths begin with a slash; a star at the end stands for whatever follows. Default: all.
	Paths   []string
	Methods []string // default: GET, POST, PUT, PATCH and DELETE
	Schemes []string // https or http; default: https
	Ports   []int    // 80 or 443; default: 443
	// Injection says how a matching request is changed.
	Injection Injection
}

// Injection says how a request gets a credential. Which fields count depends on the type.
type Injection struct {
	Type string
	// Header is for TypeHeader: a header that a request has already is replaced.
	Header string
	// Placeholder and In are for TypeSubstitution. A request is not touched elsewhere.
	Placeholder string
	In          []string
	// Headers are for TypeCustomHeaders.
	Headers []HeaderValue
}

// HeaderValue is a header and whose value it gets.
type HeaderValue struct {
	Name string `json:"name"`
	// Credential is the name of another credential of the same sandbox; empty: the one that is bound.
	Credential string `json:"credential,omitempty"`
}

// Header is the binding of the reference's first form: requests to host, whose path begins with
// pathPrefix when there is one, get the value as a header.
func Header(host, pathPrefix, header string) Binding {
	return Binding{Hosts: []string{host}, Paths: prefixPaths(pathPrefix), Injection: Injection{Type: TypeHeader, Header: header}}
}

// Substitution is the binding of the reference's second form: in requests to host, the value takes
// the place of placeholder in the parts that are named.
func Substitution(host, pathPrefix, placeholder string, in ...string) Binding {
	return Binding{
		Hosts: []string{host}, Paths: prefixPaths(pathPrefix),
		Injection: Injection{Type: TypeSubstitution, Placeholder: placeholder, In: in},
	}
}

// Bearer is the binding for an access token in the header Authorization.
func Bearer(host string) Binding {
	return Binding{Hosts: []string{host}, Injection: Injection{Type: TypeBearer}}
}

func prefixPaths(prefix string) []string {
	if prefix == "" {
		return nil
	}
	return []string{prefix + "*"}
}
