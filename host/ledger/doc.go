// Package ledger writes the ledgers of sandboxes, hashes what it writes, and replays them.
//
// Writing. A [Writer] serves every sandbox of a host over one store. Open claims a sandbox and gives
// a [Stream]; whoever held the sandbox before can't write to it any more.
//
//	w := ledger.NewWriter(st, ledger.WriterOptions{Logger: logger})
//	defer w.Close(ctx)
//	s, err := w.Open(ctx, store.Key{Name: "run", SandboxID: id})
//	err = s.Append(ctx, ledger.Event{Step: -1, Name: store.EventSandboxCreated, Payload: payload}) // durable when it returns
//	ticket, err := s.Enqueue(ctx, ledger.Event{Step: seq, Name: store.EventExecOutput, Payload: frame})
//	err = ticket.Wait(ctx) // now the frame may be shown
//
// Entries of a sandbox are written in the order of the calls, with time stamps that are taken at the
// call and never go back. One goroutine commits, or Append itself where nothing else is to be written:
// what arrived while one commit ran is the next batch, so that an idle ledger commits at once and a busy
// one shares its fsync. What waits is bounded;
// beyond that Append and Enqueue block. A commit belongs to no caller: who gives up waiting stops
// waiting, and the entry is written all the same.
//
// Values of credentials are taken out of every entry as it is accepted: those that the writer's
// [credential.Redactor] knows then, in whatever form they are in a string of the payload.
//
// What a failure means:
//
//   - store.ErrInvalid: this entry is refused, by the writer or the store; others go on.
//   - store.ErrConflict: another driver has the sandbox; the stream has ended.
//   - store.ErrUnavailable: the entry was not written, after several tries, nor was what waited
//     behind it. Enqueue is refused until an Append, which asks the store again, has succeeded.
//   - store.ErrUnknownOutcome: whether it was written could not be found out in time. The writer goes
//     on to find out, by sending the identical segments again, before it writes anything else to
//     those sandboxes; the next Append asks at once. It is then there once or not at all.
//   - [ErrClosed]: the writer was closed.
//
// Hashing. What the writer adds to a sandbox in one commit is a segment. An entry's leaf is the
// SHA-256 of its canonical form, one line of JSON that can be exported and checked with other tools
// ([Canonicalizer]); segments are chained by [SegmentHash]. testdata/canonical-v1.json has vectors.
//
// Replaying. [BuildReplay] reads a sandbox's history up to a checkpoint and says what every exec had
// done by then, so that a resumed program gets its answers from the ledger. The history of a sandbox
// that was resumed begins with that of its ancestors ([Lineage]). Rows of other programs and older
// generations are read too; what can't be read is skipped and reported. [DigestKey] makes and
// [CompareDigest] compares the digest of what the ledger doesn't spell out: cwd, environment, shell.
//
// Operating. [Export] writes a ledger as lines of JSON, [Import] checks them and brings them into another
// ledger, [Copy] does both without a file; hashes hold across the move. [Verify] recomputes every hash
// and names the first row that is not as it was written; [Heads] that were exported before show also what
// a changed head would hide. [Prune] removes whole sandboxes by age, number or size, and [CollectStats]
// says what there is. They need a store that is a store.Maintenance too. docs/ledger.md has the formats.
//
// imports: host/credential, host/internal/jsontext, host/internal/span, host/store.
package ledger
