// Package opjson writes the operations of a guest as JSON, for people who call one by hand.
//
//	op, ok := opjson.Find("ledger.open")
//	var call capability.Call
//	req, err := op.Request([]byte(`{"key": {"name": "demo", "sandboxId": "s-1"}}`), &call, nil)
//	… reply := op.NewReply(), and call the guest with req, &call and reply …
//	text, err := op.Reply(reply, &call)
//
// The members of a message are its fields as the schema names them, in camel case (sandbox_id is sandboxId);
// they are found by looking at the types of package abi. Bytes are hex, or in what is read also {"text": …} or
// {"json": …}. Enumerations are words.
//
// What stays on the host and is named by a handle stands in the handle's place. A batch is an array of rows,
// each an object whose members are the columns: numbers, texts, {"json": …} and {"blob": hex}. In ledger.append
// the counts, and what can be told of a segment's entries, may be left out. A page of rows that the guest
// answers with, as a table or behind a handle, is the member "rows". A secret is its text when it is sent, and
// never shown when it comes back; an endpoint is a base URL.
//
// imports: abi, host/credential, host/internal/capability.
package opjson
