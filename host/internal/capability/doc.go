// Package capability is what a guest may ask of its host.
//
// The host gives every plugin a [Set]: the databases that were granted to it, by name, and a logger.
// The plugin runtime hands each capability call of a guest to it:
//
//	set := capability.NewSet(capability.SetOptions{
//		Plugin:    "sqlite",
//		Databases: map[string]capability.Database{"ledger": db},
//	})
//	if err := set.Granted(want); err != nil { // for each want of the manifest, before the guest runs
//		return err // says which table of alineo.toml is missing
//	}
//	reply, failure := set.Handle(ctx, call, abi.OpSQLExec, request, nil)
//
// Each operation is one file and one row of the table in operations.go:
//
//   - sql.exec runs a program of statements in one transaction of a granted [Database];
//   - batch.read returns rows of a handle as a table, for guests that are not SQL adapters;
//   - batch.cell returns a range of one large cell of a handle;
//   - http.send sends an HTTP request, to where [Web] allows or to an [Endpoint] of the call, with secrets
//     filled in, and takes secrets out of the reply;
//   - secret.get gives a granted or kept secret as a handle;
//   - secret.keep keeps one for later calls of the same plugin.
//
// Large things stay on the host. What a guest works with are handles of a [Call], which live as long
// as the call to the guest: batches of entries that the host put there, and pages of rows that a
// program left there. [Rows] is their common face and [Page] the form that results have.
//
// A secret is a handle too: no operation gives its value to a guest. What a request carried is redacted in
// its reply, in each encoding that a part can have.
//
// A guest learns names, never paths, DSNs or other plugins' databases; what an operator needs to know
// beyond that is in [DatabaseInfo] and in the host's log.
//
// imports: abi, host/credential.
package capability
