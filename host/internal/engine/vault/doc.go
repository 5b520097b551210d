// Package vault keeps the credentials of one sandbox, and says which request gets which: the
// credential vault of OpenSandbox's egress sidecar.
//
//	store := vault.NewStore()
//	http.Handle("/credential-vault", vault.NewServer(store, policy, changed)) // create, get, patch, delete
//	rules := store.Rules()                                                    // never nil
//	binding, err := rules.Select(vault.Request{Scheme: "https", Host: "api.example.com", Port: 443, Method: "GET", Path: "/v1"})
//	for _, h := range binding.Headers { … }                                   // what is set, in place of what is there
//
// Values go in and don't come out: states have names and revisions only, values are of the type
// [Value], which prints as "[redacted]", and nothing here writes a file. What an acknowledged change
// says holds for the next call of Rules.
//
// imports: nothing of ours.
package vault
