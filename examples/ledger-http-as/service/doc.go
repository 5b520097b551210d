// Package service is the other end of the plugin in this folder: an HTTP handler in front of a ledger.
//
//	http.ListenAndServe("127.0.0.1:8099", service.New(h.Store()))
//
// A request is POST /OPERATION, such as /ledger.append. Its body is the length of the operation's message in
// four bytes, little-endian, the message as abi/ABI.md has it, and for ledger.append two tables, each behind its
// length: segments and entries. A reply of status 200 is the operation's reply; one of status 4xx is an Error
// of the ABI, which the plugin passes on; any other says that the service is not well.
//
// imports: abi, host/store.
package service
