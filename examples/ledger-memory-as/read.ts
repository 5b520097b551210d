// Pages of entries and checkpoints.

import * as a from "../../sdk/assemblyscript/assembly";
import { Entry, Store, isBehind, optional } from "./store";

const CHECKPOINT = "sandbox.checkpoint_created";

/** The bounds of a page where the host leaves them to the plugin, and the most that it makes. */
export const ROWS: u64 = 1000;
const BYTES: u64 = 1 << 20;
const MOST_ROWS: u64 = 1 << 16;
const MOST_BYTES: u64 = 12 << 20;

/** How much goes into a page. */
class Bounds {
  private rows: u64;
  private bytes: u64;
  private count: u64 = 0;
  private used: u64 = 0;

  constructor(limit: u64, maxBytes: u64) {
    this.rows = limit == 0 ? ROWS : min(limit, MOST_ROWS);
    this.bytes = maxBytes == 0 ? BYTES : min(maxBytes, MOST_BYTES);
  }

  /** Whether one more row may come: a page ends with the row that passes the bytes, and always has one. */
  admits(size: u64): bool {
    if (this.count == this.rows || (this.count > 0 && (this.used > this.bytes || this.used + size > MOST_BYTES))) return false;
    this.count++;
    this.used += size;
    return true;
  }

  /** The same for a page that is cut at its beginning: what passes the bytes is not in it. */
  holds(size: u64): bool { return (this.count == 0 || this.used + size <= this.bytes) && this.admits(size); }
}

/** Where a page ended. Its form is the plugin's own business. */
export class Cursor {
  ts: i64 = 0;
  id: i64 = 0;
  there: bool = false;
  wrong: bool = false;

  /** Reads a cursor; no bytes are the beginning. */
  static read(bytes: Uint8Array): Cursor {
    const c = new Cursor();
    if (bytes.length == 16) {
      c.ts = load<i64>(bytes.dataStart);
      c.id = load<i64>(bytes.dataStart + 8);
      c.there = true;
    } else if (bytes.length > 0) {
      c.wrong = true;
      a.fail(a.Code.INVALID, "this is no cursor of this ledger");
    }
    return c;
  }

  static of(e: Entry): Uint8Array {
    const bytes = new Uint8Array(16);
    store<i64>(bytes.dataStart, e.ts);
    store<i64>(bytes.dataStart + 8, e.id);
    return bytes;
  }
}

/** A page of a sandbox's entries, or of all. */
export function read(ledger: Store, request: a.LedgerReadRequest): a.RowsReply | null {
  const all = request.key.name.length == 0 && request.key.sandboxId.length == 0;
  const list = all ? ledger.entries : ledger.of(request.key), cursor = Cursor.read(request.cursor);
  if (cursor.wrong) return null;
  if (request.last > 0 && cursor.there) {
    a.fail(a.Code.INVALID, "the last entries have no cursor that they come behind");
    return null;
  }
  const page = new a.TableWriter(a.RowColumn.COLUMNS), reply = new a.RowsReply();
  reply.cursor = request.cursor;
  let from = 0, end = list.length;
  if (request.last > 0) {
    const limit = request.limit == 0 ? request.last : min(request.last, request.limit), bounds = new Bounds(limit, request.maxBytes);
    for (from = end; from > 0 && bounds.holds(list[from - 1].size);) from--;
  } else {
    if (cursor.there) from = behind(list, cursor, all);
    const bounds = new Bounds(request.limit, request.maxBytes);
    for (end = from; end < list.length && bounds.admits(list[end].size);) end++;
    reply.more = end < list.length;
  }
  for (let i = from; i < end; i++) page.row(list[i].values());
  if (end > from) reply.cursor = Cursor.of(list[end - 1]);
  reply.table = page.finish();
  return reply;
}

/** The first entry of a sorted list that is behind a cursor. */
function behind(list: Array<Entry>, cursor: Cursor, byId: bool): i32 {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) / 2, e = list[middle];
    if (byId ? e.id > cursor.id : isBehind(e, cursor.ts, cursor.id)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The newest checkpoint, of a tag if there is one. */
export function lastCheckpoint(ledger: Store, request: a.LastCheckpointRequest): a.RowsReply {
  const page = new a.TableWriter(a.RowColumn.COLUMNS), list = ledger.of(request.key), reply = new a.RowsReply();
  for (let i = list.length - 1; i >= 0; i--) {
    if (list[i].event != CHECKPOINT) continue;
    const tag = list[i].field("name");
    if (request.tag.length > 0 && (tag === null || tag != request.tag)) continue;
    page.row(list[i].values());
    break;
  }
  reply.table = page.finish();
  return reply;
}

/** A page of a sandbox's checkpoints. */
export function checkpoints(ledger: Store, request: a.SandboxPageRequest): a.RowsReply | null {
  const cursor = Cursor.read(request.cursor);
  if (cursor.wrong) return null;
  const page = new a.TableWriter(a.CheckpointColumn.COLUMNS), reply = new a.RowsReply();
  const list = ledger.of(request.key), bounds = new Bounds(request.limit, request.maxBytes);
  reply.cursor = request.cursor;
  for (let i = cursor.there ? behind(list, cursor, false) : 0; i < list.length; i++) {
    const e = list[i];
    if (e.event != CHECKPOINT) continue;
    if (!bounds.admits(e.size)) {
      reply.more = true;
      break;
    }
    const snapshot = e.field("snapshotId");
    page.row([a.Value.text(snapshot === null ? "" : snapshot), optional(e.field("name")), a.Value.i64(e.ts), a.Value.i64(e.id)]);
    reply.cursor = Cursor.of(e);
  }
  reply.table = page.finish();
  return reply;
}
