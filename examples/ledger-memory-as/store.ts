// What is kept. Whatever the store refers to stays; the rest of memory is collected between calls.

import * as a from "../../sdk/assemblyscript/assembly";

export class Store {
  sandboxes: Map<string, Sandbox> = new Map();
  /** Of all sandboxes, in the order of writing. */
  entries: Array<Entry> = [];
  environments: Map<string, a.Environment> = new Map();
  lastId: i64 = 0;
  lastEpoch: u64 = 0;

  sandbox(name: string, id: string): Sandbox | null {
    const key = keyOf(name, id);
    return this.sandboxes.has(key) ? this.sandboxes.get(key) : null;
  }

  /** A sandbox's entries; none of one that nobody claimed. */
  of(key: a.SandboxKey): Array<Entry> {
    const sandbox = this.sandbox(key.name, key.sandboxId);
    return sandbox === null ? [] : sandbox.entries;
  }
}

export function keyOf(name: string, id: string): string { return name.length.toString() + ":" + name + id; }

/** What is known of a sandbox that was claimed. */
export class Sandbox {
  epoch: u64 = 0;
  segments: Array<Segment> = [];
  /** How many entries the segments hold. */
  counted: u64 = 0;
  /** By (ts, id): in the order of reading. */
  entries: Array<Entry> = [];

  constructor(public name: string, public id: string) {}

  /** The last segment, empty when there is none. */
  head(): Segment {
    const last = this.segments.length - 1;
    return last < 0 ? new Segment(new Uint8Array(0), new Uint8Array(0)) : this.segments[last];
  }

  /** Puts an entry in its place, which is almost always the end. */
  add(e: Entry): void {
    let at = this.entries.length;
    this.entries.push(e);
    for (; at > 0 && this.entries[at - 1].ts > e.ts; at--) this.entries[at] = this.entries[at - 1];
    this.entries[at] = e;
  }
}

export class Segment {
  constructor(public id: Uint8Array, public hash: Uint8Array) {}
}

/** One entry, as a row of the batch that it came with. */
export class Entry {
  id: i64 = 0;
  ts: i64 = 0;

  constructor(public sandbox: Sandbox, private row: Array<a.Value>) {
    this.ts = row[a.EntryColumn.TS].integer;
    const payload = row[a.EntryColumn.PAYLOAD];
    if (!payload.isNull) payload.kind = a.Kind.JSON; // a large one was read on its own, as text
  }

  get step(): i64 { return this.row[a.EntryColumn.STEP].integer; }
  get event(): string { return this.row[a.EntryColumn.EVENT].asText; }

  /** About how much room it takes in a page. */
  get size(): u64 {
    const texts = this.row[a.EntryColumn.EVENT].bytes.length + this.row[a.EntryColumn.PAYLOAD].bytes.length + this.row[a.EntryColumn.ERROR].bytes.length;
    return 100 + 3 * (this.sandbox.name.length + this.sandbox.id.length) + texts;
  }

  /** A text of the payload; null when it is no object, or has none. */
  field(name: string): string | null { return a.stringField(this.row[a.EntryColumn.PAYLOAD].bytes, name); }

  /** It as a row of a page. */
  values(): Array<a.Value> {
    return [
      a.Value.i64(this.id), a.Value.text(this.sandbox.id), a.Value.text(this.sandbox.name), this.row[a.EntryColumn.STEP],
      this.row[a.EntryColumn.BRANCH], this.row[a.EntryColumn.EVENT], this.row[a.EntryColumn.PAYLOAD], this.row[a.EntryColumn.ERROR],
      a.Value.i64(this.ts),
    ];
  }
}

/** Whether one entry comes behind another in the order of reading. */
export function isBehind(e: Entry, ts: i64, id: i64): bool { return e.ts > ts || (e.ts == ts && e.id > id); }

export function optional(text: string | null): a.Value { return text === null ? a.Value.null() : a.Value.text(text); }
