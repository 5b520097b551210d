package abi

// Source says where a credential's value comes from, as the ledger keeps it.
type Source struct {
	Type    string // "env" or "external"; empty is "external"
	VarName string // env: the variable of the host's environment
	Ref     string // external: in the broker's own words
}

// Words of Source.Type.
const (
	SourceEnv      = "env"
	SourceExternal = "external"
)

// Binding says which requests of a sandbox get a credential, and how. Lists that are empty stand for
// what an OpenSandbox vault takes in their place.
type Binding struct {
	Schemes       []string // "https", "http"; empty: https
	Ports         []uint64 // empty: 443
	Hosts         []string // names or *.names; at least one
	Methods       []string // empty: GET, POST, PUT, PATCH, DELETE
	Paths         []string // begin with /, a * at the end matches what follows; empty: all
	Auth          string   // Auth*
	Header        string   // AuthAPIKey: the header's name
	Headers       []AuthHeader
	Substitutions []Substitution
}

// Words of Binding.Auth.
const (
	AuthBearer        = "bearer"        // Authorization: Bearer VALUE
	AuthBasic         = "basic"         // Authorization: Basic VALUE, which is base64 of user:password already
	AuthAPIKey        = "apiKey"        // HEADER: VALUE
	AuthCustomHeaders = "customHeaders" // each of Headers
	AuthPassthrough   = "passthrough"   // Substitutions
)

// AuthHeader is one header of AuthCustomHeaders.
type AuthHeader struct {
	Name       string
	Credential string // whose value it has; empty: the credential that is bound
}

// Substitution puts the value in the place of a text.
type Substitution struct {
	Placeholder string
	In          []string // "path", "query", "header", "body"
}

// NamedBinding is one binding of a sandbox.
type NamedBinding struct {
	Name    string
	Binding Binding
	Partial bool // the broker can't say all of it: what is empty may be unknown
}

// BrokerSetRequest binds a credential, in the place of one of that name.
type BrokerSetRequest struct {
	SandboxID string
	Name      string
	Egress    uint64 // endpoint handle of the sandbox's egress sidecar, for http.send
	Value     uint64 // secret handle
	Binding   Binding
}

// BrokerPatchRequest changes the value, the binding or both.
type BrokerPatchRequest struct {
	SandboxID string
	Name      string
	Egress    uint64
	Value     uint64  // 0: stays
	Binding   Binding // without hosts: stays
}

// BrokerRemoveRequest unbinds a credential.
type BrokerRemoveRequest struct {
	SandboxID string
	Name      string
	Egress    uint64
}

// BrokerListRequest asks for a sandbox's bindings.
type BrokerListRequest struct {
	SandboxID string
	Egress    uint64
}

// BrokerListReply lists them by name.
type BrokerListReply struct {
	Bindings []NamedBinding
}

// BrokerResolveRequest asks for a credential's value.
type BrokerResolveRequest struct {
	SandboxID string // empty: before there is one
	Name      string
	Source    Source
}

// BrokerResolveReply has it as a secret handle of this call.
type BrokerResolveReply struct {
	Value     uint64
	ExpiresMS uint64 // the value must not be used longer than that; 0: it says nothing of an end
}
