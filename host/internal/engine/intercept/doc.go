// Package intercept is the credential proxy: it ends the connections that a sandbox's processes make to
// hosts with a binding, and makes the requests on them itself, with the credentials that they get.
//
//	authority, err := intercept.NewAuthority()      // its key stays in this process
//	p := intercept.New(intercept.Options{
//		Authority: authority,                       // its certificate is what the sandbox trusts
//		Rules:     store.Rules,                     // asked anew for each request
//		Dial:      gateway.Dial, Allowed: gateway.Allows,
//		Record:    trail.Add,
//	})
//	if p.Wants("api.example.com", 443) { p.Serve(conn, "api.example.com", 443) }
//
// # Which host a request is for
//
// The one whose address the process connected to, which it got from our DNS: not what it says in SNI or
// Host. Those must say the same, or the request is refused. The upstream's certificate must be valid for
// that name; connections to it are made by the policy, each to an address that the name has then.
//
// # What is refused
//
// Requests that two readers could read in two ways: bare line feeds, folded lines, both or several
// lengths, odd transfer codings, targets that aren't a path, trailers; and, for requests with a
// credential, paths that mean something else once decoded. What goes upstream is written anew, never
// copied.
//
// # What doesn't come back
//
// The values of credentials, in headers, trailers and bodies of every answer, as they are and in the
// encodings that a server is likely to echo them in (see [Redactor]). An encoding of content that can't be
// looked into is refused. A server that transforms what it was sent in other ways, or hands it out in
// pieces of a few bytes, can give a value away: bind credentials to hosts that don't.
//
// imports: trail, vault.
package intercept
