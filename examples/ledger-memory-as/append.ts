// Claiming, writing and deleting.

import * as a from "../../sdk/assemblyscript/assembly";
import { Entry, Sandbox, Segment, Store, keyOf } from "./store";

/** The largest entry, so that one can't take all of the plugin's memory. */
const MAX_ENTRY: i32 = 8 << 20;

/** Claims a sandbox's ledger: whoever had it can't append any more. */
export function open(store: Store, key: a.SandboxKey): a.Head {
  let sandbox = store.sandbox(key.name, key.sandboxId);
  if (sandbox === null) {
    sandbox = new Sandbox(key.name, key.sandboxId);
    store.sandboxes.set(keyOf(key.name, key.sandboxId), sandbox);
  }
  store.lastEpoch++; // one count for all: it is higher than every earlier claim, of deleted sandboxes too
  sandbox.epoch = store.lastEpoch;
  const head = new a.Head();
  head.epoch = sandbox.epoch;
  head.entries = sandbox.counted;
  head.hash = sandbox.head().hash;
  head.segmentId = sandbox.head().id;
  head.lastStep = -1;
  for (let i = 0; i < sandbox.entries.length; i++) {
    const e = sandbox.entries[i];
    head.lastStep = max(head.lastStep, e.step);
    head.maxTs = max(head.maxTs, e.ts);
  }
  return head;
}

/** What a segment of a batch does. */
class Change {
  entries: Array<Entry> = [];

  constructor(public sandbox: Sandbox, public segment: Segment, public retry: bool) {}
}

/** Writes a batch, all of it or nothing: it is looked at whole before anything is changed. */
export function append(store: Store, segments: Array<Array<a.Value>>, entries: Array<Array<a.Value>>): a.LedgerAppendReply | null {
  const changes = new Array<Change>();
  for (let i = 0; i < segments.length; i++) {
    const c = change(store, segments[i]);
    if (c === null) return refused(a.Code.CONFLICT, "the sandbox's ledger has moved on", "segment", i);
    changes.push(c);
  }
  for (let i = 0; i < entries.length; i++) {
    const row = entries[i], at = row[a.EntryColumn.SEGMENT].integer;
    if (at < 0 || at >= changes.length) return refused(a.Code.INVALID, "an entry of no segment", "entry", i);
    if (row[a.EntryColumn.PAYLOAD].bytes.length + row[a.EntryColumn.ERROR].bytes.length > MAX_ENTRY) {
      return refused(a.Code.INVALID, "an entry of more than 8 MiB, which this ledger does not take", "entry", i);
    }
    const c = changes[<i32>at];
    if (!c.retry) c.entries.push(new Entry(c.sandbox, row));
  }
  const reply = new a.LedgerAppendReply();
  reply.already = true;
  for (let i = 0; i < changes.length; i++) {
    const c = changes[i];
    if (c.retry) continue;
    reply.already = false;
    c.sandbox.segments.push(c.segment);
    c.sandbox.counted += c.entries.length;
    for (let k = 0; k < c.entries.length; k++) {
      c.entries[k].id = ++store.lastId;
      c.sandbox.add(c.entries[k]);
      store.entries.push(c.entries[k]);
    }
  }
  return reply;
}

/** Looks at a segment: it follows the head, or it was applied before, or the ledger has moved on, which is null. */
function change(store: Store, row: Array<a.Value>): Change | null {
  const sandbox = store.sandbox(row[a.SegmentColumn.NAME].asText, row[a.SegmentColumn.SANDBOX_ID].asText);
  if (sandbox === null) return null;
  const segment = new Segment(row[a.SegmentColumn.ID].bytes, row[a.SegmentColumn.HASH].bytes);
  if (sandbox.epoch == <u64>row[a.SegmentColumn.EPOCH].integer && same(sandbox.head().hash, row[a.SegmentColumn.PREVIOUS].bytes)) {
    return new Change(sandbox, segment, false);
  }
  for (let i = sandbox.segments.length - 1; i >= 0; i--) {
    const old = sandbox.segments[i];
    if (same(old.id, segment.id) && same(old.hash, segment.hash)) return new Change(sandbox, segment, true);
  }
  return null;
}

function same(x: Uint8Array, y: Uint8Array): bool { return a.compare(x, y) == 0; }

/** Removes all that is kept of a sandbox. */
export function remove(store: Store, key: a.SandboxKey): a.DeleteReply {
  const reply = new a.DeleteReply(), sandbox = store.sandbox(key.name, key.sandboxId);
  if (sandbox === null) return reply;
  reply.rows = sandbox.entries.length;
  store.sandboxes.delete(keyOf(key.name, key.sandboxId));
  const left = new Array<Entry>();
  for (let i = 0; i < store.entries.length; i++) {
    if (store.entries[i].sandbox !== sandbox) left.push(store.entries[i]);
  }
  store.entries = left;
  return reply;
}

/** Notes an error about one row of a batch. */
function refused(code: u32, message: string, detail: string, row: i32): a.LedgerAppendReply | null {
  a.fail(code, message).details.set(detail, row.toString());
  return null;
}
