// Package outbound sends the HTTP requests of a plugin, to where the plugin may send them and nowhere
// else.
//
//	client, err := outbound.New(outbound.Options{
//		Allow:   []string{"https://vault.internal:8200/v1"},
//		Private: []string{"vault.internal"},
//		CA:      pem,
//	})
//	resp, err := client.Do(req) // a *DeniedError when it may not
//
// What counts is where a request really goes. The address that was asked for is compared with the
// grants, and so is that of each hop of a redirect; the addresses that a name stands for are looked at
// before one of them is dialled, and it is that one which is dialled, so that a name can't change its
// mind between the two. Loopback and private addresses need a grant of their own: the address itself
// as a grant's host, localhost, or a name in Private. Link-local addresses, where clouds keep their
// metadata, multicast and unspecified ones can't be reached by name at all.
//
// Nothing of the host's environment counts: no proxy, no netrc, no cookies.
//
// imports: nothing of ours.
package outbound
