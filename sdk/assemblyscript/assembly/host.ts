// What a plugin may ask of the host.

import * as m from "./messages";
import { Op } from "./ops";
import { Table, Value, Kind } from "./table";
import { Message, utf8 } from "./wire";
import { fail, pass } from "./error";

@external("alineo_v1", "call")
declare function hostCall(op: u32, ptr: usize, size: usize): u64;
@external("alineo_v1", "take")
declare function hostTake(ptr: usize): void;
@external("alineo_v1", "log")
declare function hostLog(level: u32, ptr: usize, size: usize): void;
@external("wasi_snapshot_preview1", "clock_time_get")
declare function hostClock(clock: u32, precision: u64, result: usize): u32;

@external("wasi_snapshot_preview1", "poll_oneoff")
declare function hostPoll(subscriptions: usize, events: usize, count: usize, result: usize): u32;

/** Levels of log lines. */
export namespace Level {
  export const TRACE: u32 = 1;
  export const DEBUG: u32 = 2;
  export const INFO: u32 = 3;
  export const WARN: u32 = 4;
  export const ERROR: u32 = 5;
}

/** Writes a log line. */
export function log(level: u32, line: string): void {
  const bytes = utf8(line);
  hostLog(level, bytes.dataStart, bytes.length);
}

/** The time, in Unix milliseconds. */
export function now(): i64 {
  const result = new Uint8Array(8);
  hostClock(0, 1000000, result.dataStart);
  return <i64>(load<u64>(result.dataStart) / 1000000);
}

/** Waits. What is left of the call's time goes on. */
export function sleep(milliseconds: i64): void {
  const subscription = new Uint8Array(48), event = new Uint8Array(32), result = new Uint8Array(4);
  store<u32>(subscription.dataStart + 16, 1); // the monotonic clock
  store<u64>(subscription.dataStart + 24, <u64>milliseconds * 1000000);
  hostPoll(subscription.dataStart, event.dataStart, 1, result.dataStart);
}

/** Asks the host for an operation, and reads its reply; false is an error, which is noted. */
export function ask(op: u32, request: Message, reply: Message): bool {
  const bytes = request.toBytes();
  const packed = hostCall(op, bytes.dataStart, bytes.length);
  const answer = new Uint8Array(<i32>(packed & 0xffffffff));
  hostTake(answer.dataStart);
  if (packed >> 32 == 0) {
    const why = reply.decode(answer);
    if (why.length == 0) return true;
    fail(m.Code.INTERNAL, "the host's reply: " + why);
    return false;
  }
  const error = new m.Error();
  error.decode(answer);
  pass(error);
  return false;
}

/** Runs a program on a granted database, in one transaction; null is an error. */
export function sql(program: m.SQLExec): m.SQLExecReply | null {
  const reply = new m.SQLExecReply();
  return ask(Op.SQL_EXEC, program, reply) ? reply : null;
}

/** The whole of one text, JSON or blob cell; null is an error. */
export function cell(handle: u64, row: u64, column: u64): Uint8Array | null {
  let whole = new Uint8Array(0);
  while (true) {
    const request = new m.BatchCell(), part = new m.BatchBytes();
    request.handle = handle;
    request.row = row;
    request.column = column;
    request.offset = whole.length;
    if (!ask(Op.BATCH_CELL, request, part)) return null;
    const longer = new Uint8Array(whole.length + part.data.length);
    longer.set(whole);
    longer.set(part.data, whole.length);
    whole = longer;
    if (part.data.length == 0 || <u64>whole.length >= part.total) return whole;
  }
}

/** All rows behind a handle, cells of any size included; null is an error. For batches that fit into the
 * plugin's memory. */
export function rows(handle: u64): Array<Array<Value>> | null {
  const all = new Array<Array<Value>>();
  while (true) {
    const request = new m.BatchRead(), page = new m.BatchRows();
    const first = <u64>all.length;
    request.handle = handle;
    request.first = first;
    if (!ask(Op.BATCH_READ, request, page)) return null;
    const table = Table.decode(page.table);
    if (table.why.length > 0) {
      fail(m.Code.INTERNAL, "the host's rows: " + table.why);
      return null;
    }
    if (table.rows.length == 0) return all;
    for (let i = 0; i < page.cut.length; i++) {
      const row = page.cut[i] >> 8, column = page.cut[i] & 0xff;
      const bytes = cell(handle, row, column);
      if (bytes === null) return null;
      const value = new Value(Kind.TEXT);
      value.bytes = bytes;
      table.rows[<i32>(row - first)][<i32>column] = value;
    }
    for (let i = 0; i < table.rows.length; i++) all.push(table.rows[i]);
  }
}
