// What better-sqlite3 does with the same rows, for host/internal/adapter's BenchmarkAppend to compare
// with. It is driven over standard input, a line of JSON for each turn:
//
//	{"count": 100, "n": 64, "bare": true}
//
// appends 100 batches of 64 events, each batch one transaction, and answers with the nanoseconds that
// it took. A bare batch is its events; another one also moves the sandbox's head and adds a row for
// the segment, as the plugin does. Arguments: a file to be made, synchronous.
import { createRequire } from "node:module";
import { randomBytes } from "node:crypto";
import { createInterface } from "node:readline";

const [, , modules, file, synchronous, statements] = process.argv;
const Database = createRequire(modules + "/")("better-sqlite3");
const sql = JSON.parse(statements);
const db = new Database(file);
db.pragma("journal_mode = WAL");
db.pragma("synchronous = " + synchronous);
for (const s of sql.schema) db.exec(s);
db.prepare(sql.head).run(sql.name, sql.sandbox);
const insert = db.prepare(sql.insert);
const advance = db.prepare(sql.advance);
const segment = db.prepare(sql.segment);
let ts = Date.now();
let hash = Buffer.alloc(0);

function insertAll(events) {
  for (const e of events) insert.run(e.sandbox, e.name, e.step, null, e.event, e.payload, null, e.ts);
}

const bare = db.transaction(insertAll);
const chained = db.transaction((events, id, next, leaves) => {
  if (advance.run(id, next, events.at(-1).ts, events.length, sql.name, sql.sandbox, hash).changes !== 1) throw new Error("the head did not move");
  insertAll(events);
  segment.run(sql.name, sql.sandbox, events.length, id, hash, next, leaves);
});

for await (const line of createInterface({ input: process.stdin })) {
  const turn = JSON.parse(line);
  const events = Array.from({ length: turn.n }, () => ({
    sandbox: sql.sandbox, name: sql.name, step: 1, event: "exec.output", payload: sql.payload, ts: 0,
  }));
  const leaves = Buffer.alloc(32 * turn.n);
  const began = process.hrtime.bigint();
  for (let i = 0; i < turn.count; i++) {
    for (const e of events) e.ts = ++ts;
    if (turn.bare) {
      if (turn.n === 1) insertAll(events);
      else bare.immediate(events);
    } else {
      const next = randomBytes(32);
      chained.immediate(events, randomBytes(16), next, leaves);
      hash = next;
    }
  }
  process.stdout.write(String(process.hrtime.bigint() - began) + "\n");
}
