package alineo

import (
	"strings"

	"github.com/alineo-labs/alineo-host/abi"
)

// Send sends an HTTP request through the host, to an address that was granted to the plugin or to an
// endpoint that came with the running call. Any status is a reply. The error is an *abi.Error; code
// unknown_outcome says that the request may have arrived. The reply is good until the running call ends.
//
//	reply, err := alineo.Send(&abi.HTTPRequest{
//		Endpoint: req.Egress, URL: "/credential-vault", Method: "POST",
//		Headers: []abi.HTTPHeader{alineo.Header("Content-Type", "application/json")},
//		Body:    []abi.HTTPPart{alineo.Literal(`{"value":"`), alineo.Secret(req.Value).JSON(), alineo.Literal(`"}`)},
//	})
func Send(req *abi.HTTPRequest) (*abi.HTTPReply, error) {
	reply := new(abi.HTTPReply)
	if err := Invoke(abi.OpHTTPSend, req, reply); err != nil {
		return nil, err
	}
	if len(reply.Secrets) != len(req.Extract) {
		return nil, &abi.Error{Code: abi.CodeInternal, Message: "the host did not answer every pointer"}
	}
	return reply, nil
}

// Literal is a piece of a request as it stands.
func Literal(text string) abi.HTTPPart { return abi.HTTPPart{Literal: []byte(text)} }

// Header is a header of a request without secrets.
func Header(name, value string) abi.HTTPHeader {
	return abi.HTTPHeader{Name: name, Value: []abi.HTTPPart{Literal(value)}}
}

// SecretHeader is a header whose value is a secret.
func SecretHeader(name string, value Secret) abi.HTTPHeader {
	return abi.HTTPHeader{Name: name, Value: []abi.HTTPPart{value.Raw()}}
}

// HeaderValue returns the first header of a reply with that name, whatever the case of its letters, or "".
func HeaderValue(reply *abi.HTTPReply, name string) string {
	for i := range reply.Headers {
		if strings.EqualFold(reply.Headers[i].Name, name) {
			return reply.Headers[i].Value
		}
	}
	return ""
}
