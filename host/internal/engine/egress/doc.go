// Package egress is a sandbox's way out: which names and addresses its processes may connect to, and
// the connections themselves.
//
// A sandbox's network namespace has loopback and nothing else. Its init calls [Open], which routes
// every address to loopback, redirects DNS and TCP to sockets by nftables, and hands those sockets to
// the shim outside. There a [Gateway] answers:
//
//	g, err := egress.NewGateway(egress.Options{Policy: policy})
//	stop, err := g.Serve(sockets)
//	http.Handle("/", egress.NewServer(g, token, nil)) // GET, POST, PATCH, DELETE /policy
//
// DNS answers with an address of a range of our own for each name that the policy allows and that
// exists. A connection to such an address is a connection to that name, whatever protocol runs on it:
// the policy is asked again, the name is resolved outside, and the two are joined. A connection to any
// other address is judged as an address. So a change of the policy holds for the next connection.
//
// # What is never reached by accident
//
// Loopback, private, link-local, shared, multicast and this machine's own addresses are reached only
// by a rule that allows the address itself or a range that holds it: no default and no name leads
// there. UDP other than DNS, and IPv6 inside the sandbox, have no way out.
//
// The language of policies and the API are those of OpenSandbox's egress sidecar.
//
// An [Interceptor] may take connections to some names over, and dials with [Gateway.Dial] then.
//
// imports: trail.
package egress
