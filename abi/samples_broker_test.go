package abi_test

import (
	"math"
	"strings"

	"github.com/alineo-labs/alineo-host/abi"
)

// brokerSamples are those of the broker group and of the host's operations for it.
func brokerSamples() []sample {
	long := strings.Repeat("x", 300)
	bearer := abi.Binding{Hosts: []string{"api.example.com"}, Auth: abi.AuthBearer}
	whole := abi.Binding{
		Schemes: []string{"https", "http"}, Ports: []uint64{443, 80}, Hosts: []string{"a.example", "*.b.example"},
		Methods: []string{"GET"}, Paths: []string{"/v1/*", "/v2"}, Auth: abi.AuthCustomHeaders,
		Headers: []abi.AuthHeader{{Name: "X-Key"}, {Name: "X-Other", Credential: "other"}},
	}
	placed := abi.Binding{
		Hosts: []string{"a.example"}, Auth: abi.AuthPassthrough,
		Substitutions: []abi.Substitution{{Placeholder: "{{KEY}}", In: []string{"query", "body"}}, {}},
	}
	return []sample{
		{"Source/empty", &abi.Source{}},
		{"Source/env", &abi.Source{Type: abi.SourceEnv, VarName: "TOKEN"}},
		{"Source/external", &abi.Source{Type: abi.SourceExternal, Ref: "vault:secret/ci#token"}},
		{"Binding/empty", &abi.Binding{}},
		{"Binding/bearer", &bearer},
		{"Binding/whole", &whole},
		{"Binding/passthrough", &placed},
		{"Binding/limits", &abi.Binding{Ports: []uint64{0, math.MaxUint64}, Hosts: []string{"", nasty, long}, Auth: long, Header: nasty, Headers: []abi.AuthHeader{{}}}},
		{"AuthHeader/empty", &abi.AuthHeader{}},
		{"AuthHeader/typical", &abi.AuthHeader{Name: "X-Key", Credential: "other"}},
		{"Substitution/empty", &abi.Substitution{}},
		{"Substitution/typical", &abi.Substitution{Placeholder: "{{KEY}}", In: []string{"path", "header"}}},
		{"NamedBinding/empty", &abi.NamedBinding{}},
		{"NamedBinding/typical", &abi.NamedBinding{Name: "github", Binding: bearer}},
		{"NamedBinding/partial", &abi.NamedBinding{Name: "github", Binding: placed, Partial: true}},
		{"BrokerSetRequest/empty", &abi.BrokerSetRequest{}},
		{"BrokerSetRequest/typical", &abi.BrokerSetRequest{SandboxID: "sb-1", Name: "github", Egress: 1, Value: 2, Binding: whole}},
		{"BrokerSetRequest/limits", &abi.BrokerSetRequest{SandboxID: nasty, Name: long, Egress: math.MaxUint64, Value: math.MaxUint64, Binding: placed}},
		{"BrokerPatchRequest/empty", &abi.BrokerPatchRequest{}},
		{"BrokerPatchRequest/value", &abi.BrokerPatchRequest{SandboxID: "sb-1", Name: "github", Egress: 1, Value: 1}},
		{"BrokerPatchRequest/binding", &abi.BrokerPatchRequest{SandboxID: "sb-1", Name: "github", Egress: 1, Binding: bearer}},
		{"BrokerRemoveRequest/empty", &abi.BrokerRemoveRequest{}},
		{"BrokerRemoveRequest/typical", &abi.BrokerRemoveRequest{SandboxID: "sb-1", Name: "github", Egress: 1}},
		{"BrokerListRequest/empty", &abi.BrokerListRequest{}},
		{"BrokerListRequest/typical", &abi.BrokerListRequest{SandboxID: "sb-1", Egress: 1}},
		{"BrokerListReply/empty", &abi.BrokerListReply{}},
		{"BrokerListReply/typical", &abi.BrokerListReply{Bindings: []abi.NamedBinding{{Name: "a", Binding: bearer}, {}, {Name: "c", Binding: whole, Partial: true}}}},
		{"BrokerResolveRequest/empty", &abi.BrokerResolveRequest{}},
		{"BrokerResolveRequest/typical", &abi.BrokerResolveRequest{SandboxID: "sb-1", Name: "github", Source: abi.Source{Ref: "secret:github"}}},
		{"BrokerResolveReply/empty", &abi.BrokerResolveReply{}},
		{"BrokerResolveReply/typical", &abi.BrokerResolveReply{Value: 1, ExpiresMS: 3600000}},
		{"HTTPRequest/empty", &abi.HTTPRequest{}},
		{"HTTPRequest/endpoint", &abi.HTTPRequest{
			Endpoint: 1, URL: "/credential-vault", Method: "POST", MaxBytes: 1 << 20, TimeoutMS: 2000,
			Headers: []abi.HTTPHeader{{Name: "Content-Type", Value: []abi.HTTPPart{{Literal: []byte("application/json")}}}},
			Body:    []abi.HTTPPart{{Literal: []byte(`{"value":"`)}, {Secret: 1, Encoding: abi.PartJSON}, {Literal: []byte(`"}`)}},
		}},
		{"HTTPRequest/granted", &abi.HTTPRequest{
			URL:     "https://vault.internal:8200/v1/secret/data/ci",
			Headers: []abi.HTTPHeader{{Name: "X-Vault-Token", Value: []abi.HTTPPart{{Secret: 2}}}, {}},
			Extract: []string{"/data/data/token", ""}, Hide: []string{"/data/data"},
		}},
		{"HTTPHeader/empty", &abi.HTTPHeader{}},
		{"HTTPHeader/typical", &abi.HTTPHeader{Name: "Authorization", Value: []abi.HTTPPart{{Literal: []byte("Bearer ")}, {Secret: 1}}}},
		{"HTTPPart/empty", &abi.HTTPPart{}},
		{"HTTPPart/literal", &abi.HTTPPart{Literal: []byte{0, 0xff, 'x'}}},
		{"HTTPPart/secret", &abi.HTTPPart{Secret: math.MaxUint64, Encoding: abi.PartURL}},
		{"HTTPPart/limits", &abi.HTTPPart{Literal: []byte(long), Secret: 1, Encoding: math.MaxInt32}},
		{"HTTPReply/empty", &abi.HTTPReply{}},
		{"HTTPReply/typical", &abi.HTTPReply{
			Status: 200, Headers: []abi.HTTPField{{Name: "Content-Type", Value: "application/json"}, {}}, Body: []byte(`{"data":null}`), Secrets: []uint64{3, 0},
		}},
		{"HTTPField/empty", &abi.HTTPField{}},
		{"HTTPField/typical", &abi.HTTPField{Name: "Retry-After", Value: "3"}},
		{"SecretGet/empty", &abi.SecretGet{}},
		{"SecretGet/typical", &abi.SecretGet{Name: "vault-token", Kept: true}},
		{"SecretReply/empty", &abi.SecretReply{}},
		{"SecretReply/typical", &abi.SecretReply{Secret: 1, Version: 2, ExpiresMS: 60000, Note: []byte(`{"renewable":true}`)}},
		{"SecretKeep/empty", &abi.SecretKeep{}},
		{"SecretKeep/typical", &abi.SecretKeep{Name: "token", Secret: 1, TTLMS: 60000, Note: []byte{0, 1}}},
	}
}
