// Lists of sandboxes.

import * as a from "../../sdk/assemblyscript/assembly";
import { Cursor, ROWS } from "./read";
import { Entry, Sandbox, Store, isBehind, optional } from "./store";

/** One sandbox, summed up. */
class Summary {
  completed: a.Value = a.Value.null();
  execs: i64 = 0;

  constructor(public sandbox: Sandbox, public created: Entry) {}

  get status(): string { return this.completed.isNull ? "running" : "completed"; }

  get run(): string {
    const run = this.created.field("runId");
    return run === null ? this.sandbox.id : run;
  }

  values(): Array<a.Value> {
    return [
      a.Value.text(this.sandbox.name), a.Value.text(this.sandbox.id), a.Value.text(this.status), a.Value.i64(this.created.ts), this.completed,
      a.Value.i64(this.execs), a.Value.text(this.run), optional(this.created.field("resourceId")), optional(this.created.field("teamId")),
      optional(this.created.field("parentSandboxId")), a.Value.i64(this.created.id),
    ];
  }
}

/** Sums a sandbox up; null when it has no sandbox.created. */
function sum(sandbox: Sandbox): Summary | null {
  let found: Summary | null = null, completed = a.Value.null(), execs = 0;
  for (let i = 0; i < sandbox.entries.length; i++) {
    const e = sandbox.entries[i], event = e.event;
    if (event == "sandbox.created") {
      if (found === null) found = new Summary(sandbox, e);
    } else if (event == "sandbox.closed") {
      completed = a.Value.i64(e.ts); // entries are by time: the last one counts
    } else if (event == "exec.completed") {
      execs++;
    }
  }
  if (found !== null) {
    found.completed = completed;
    found.execs = execs;
  }
  return found;
}

/** All sandboxes that were created, newest first. */
function summaries(store: Store): Array<Summary> {
  const all = store.sandboxes.values(), list = new Array<Summary>();
  for (let i = 0; i < all.length; i++) {
    const s = sum(all[i]);
    if (s !== null) list.push(s);
  }
  list.sort((x, y) => isBehind(x.created, y.created.ts, y.created.id) ? -1 : 1);
  return list;
}

function is(filter: string, value: string | null): bool { return filter.length == 0 || (value !== null && value == filter); }

/** A page of the sandboxes that the filters leave. */
export function list(store: Store, request: a.ListSandboxesRequest): a.RowsReply | null {
  const cursor = Cursor.read(request.cursor);
  if (cursor.wrong) return null;
  const page = new a.TableWriter(a.SandboxColumn.COLUMNS), reply = new a.RowsReply(), all = summaries(store);
  const most = request.hasLimit ? min(request.limit, ROWS) : ROWS;
  let count: u64 = 0;
  reply.cursor = request.cursor;
  for (let i = 0; i < all.length; i++) {
    const s = all[i], e = s.created;
    if (!is(request.name, s.sandbox.name) || !is(request.status, s.status) || !is(request.runId, s.run)) continue;
    if (!is(request.resourceId, e.field("resourceId")) || !is(request.teamId, e.field("teamId"))) continue;
    if (!s.sandbox.id.startsWith(request.idPrefix)) continue;
    if (request.hasBefore && e.ts >= request.before) continue;
    if (cursor.there && (isBehind(e, cursor.ts, cursor.id) || (e.ts == cursor.ts && e.id == cursor.id))) continue;
    if (count == most) {
      reply.more = most > 0;
      break;
    }
    count++;
    page.row(s.values());
    reply.cursor = Cursor.of(e);
  }
  reply.table = page.finish();
  return reply;
}

/** The newest sandbox with an id, of a key if there is one. */
export function find(store: Store, id: string, key: a.SandboxKey | null): a.RowsReply {
  const page = new a.TableWriter(a.SandboxColumn.COLUMNS), reply = new a.RowsReply(), all = summaries(store);
  for (let i = 0; i < all.length; i++) {
    const sandbox = all[i].sandbox;
    if (sandbox.id != id || (key !== null && sandbox.name != key.name)) continue;
    page.row(all[i].values());
    break;
  }
  reply.table = page.finish();
  return reply;
}
