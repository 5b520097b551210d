package abi

// HTTPRequest is one request that the host sends.
type HTTPRequest struct {
	Endpoint  uint64 // handle that came with the call; 0: URL is a whole one that was granted
	URL       string // with an endpoint: path and query below it
	Method    string // empty: GET
	Headers   []HTTPHeader
	Body      []HTTPPart
	MaxBytes  uint64   // most bytes of the reply's body; 0: the host's bound
	TimeoutMS uint64   // 0: what is left of the call
	Extract   []string // JSON pointers: texts of the reply's body that become secrets
	Hide      []string // JSON pointers: parts of the reply's body that become null
}

// HTTPHeader is one header of a request.
type HTTPHeader struct {
	Name  string
	Value []HTTPPart
}

// HTTPPart is a piece of a body or header: bytes, or a secret that the host fills in when it sends.
type HTTPPart struct {
	Literal  []byte
	Secret   uint64 // not 0: this secret in the place of Literal
	Encoding PartEncoding
}

// PartEncoding says how a secret is written.
type PartEncoding uint32

// Encodings of a secret.
const (
	PartRaw    PartEncoding = 0 // as it is
	PartJSON   PartEncoding = 1 // escaped for the inside of a JSON string, without the quotes
	PartBase64 PartEncoding = 2 // standard base64 with padding
	PartURL    PartEncoding = 3 // percent-encoded, for a query or form
)

// HTTPReply is what came back. Secrets that the request had are "[REDACTED]" in it.
type HTTPReply struct {
	Status  uint64
	Headers []HTTPField
	Body    []byte
	Secrets []uint64 // one of each of Extract, 0 where the body has no text there
}

// HTTPField is one header of a reply.
type HTTPField struct {
	Name  string // canonical: Content-Type
	Value string
}

// SecretGet asks for a secret.
type SecretGet struct {
	Name string
	Kept bool // one that SecretKeep kept, not a granted one
}

// SecretReply has it as a handle of this call.
type SecretReply struct {
	Secret    uint64
	Version   uint64 // another number when the value is another; counted from 1 by this host
	ExpiresMS uint64 // of a kept one: what is left of its time; 0: no end
	Note      []byte // of a kept one
}

// SecretKeep keeps a secret on the host for later calls of this plugin, of all its instances.
type SecretKeep struct {
	Name   string
	Secret uint64 // handle; 0 forgets what was kept
	TTLMS  uint64 // for how long; 0: until the plugin ends
	Note   []byte // what the plugin wants to know of it again; nothing secret
}
